import type { Compress, Decompress, EdgeTracing, OperationHandlers, RestrictedApi } from "@naiad/protocol";
import type { CorsOptions } from "./cors.ts";

export interface HttpOptions {
  readonly handlers: OperationHandlers;
  /** Bytes that the JSON of a request, a tensor inside it, or a raw request may have: `--http-max-input-size`. */
  readonly maxInputSize: number;
  /** A header on every response by which a client knows this server from others. Name in lower case. */
  readonly marker?: readonly [name: string, value: string];
  /** Without this port compressed requests are answered with UNSUPPORTED. */
  readonly decompress?: Decompress;
  /** Without this port, and where it rejects, no response is compressed, whatever the request accepts. */
  readonly compress?: Compress;
  readonly restrictedApis?: readonly RestrictedApi[];
  /** Regular expression for names of request headers that become parameters of an inference request. */
  readonly headerForwardPattern?: string;
  /** Of the server behind `handlers`. Without it what happens here stands in no trace. */
  readonly tracing?: EdgeTracing;
  /** For listeners that pages of other origins reach. Without it nobody is asked where they come from, as in Triton. */
  readonly cors?: CorsOptions;
}
