import type { OperationHandlers } from "@naiad/protocol";

export interface HttpOptions {
  readonly handlers: OperationHandlers;
  /** Bytes that the JSON of a request, a tensor inside it, or a raw request may have: `--http-max-input-size`. */
  readonly maxInputSize: number;
  /** A header on every response by which a client knows this server from others. Name in lower case. */
  readonly marker?: readonly [name: string, value: string];
  readonly decompress?: Decompress;
}

/**
 * Unpacks a request body; `deflate` has the zlib wrapper. Rejects with an InferenceError when the bytes are damaged or
 * unpack to more than `maxByteSize`. Without this port compressed requests are answered with UNSUPPORTED.
 */
export type Decompress = (
  encoding: "gzip" | "deflate",
  bytes: Uint8Array,
  maxByteSize: number,
) => Promise<Uint8Array>;
