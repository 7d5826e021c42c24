import type { ExchangeRequest, ExchangeResponse, ModelReference } from "@naiad/protocol";
import type { ForwardHeaders } from "./forward-headers.ts";
import type { HttpOptions } from "./http-options.ts";

/** One request on its way to an operation, its path already read. */
export interface RouteCall {
  readonly options: HttpOptions;
  readonly request: ExchangeRequest;
  readonly forwardHeaders: ForwardHeaders;
  readonly reference: ModelReference;
  /** The repository's name in the path, `""` when there is none. */
  readonly repository: string;
  /** The name of a shared memory region in the path, `""` when there is none. */
  readonly region: string;
}

/** Answers a request or throws what `errorResponse` turns into an answer. */
export type Route = (call: RouteCall) => Promise<ExchangeResponse>;
