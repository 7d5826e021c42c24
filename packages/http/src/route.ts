import type { ExchangeRequest, ExchangeResponse, ModelReference } from "@naiad/protocol";
import type { HttpOptions } from "./http-options.ts";

/** One request on its way to an operation, its path already read. */
export interface RouteCall {
  readonly options: HttpOptions;
  readonly request: ExchangeRequest;
  readonly reference: ModelReference;
  /** The repository's name in the path, `""` when there is none. */
  readonly repository: string;
}

/** Answers a request or throws what `errorResponse` turns into an answer. */
export type Route = (call: RouteCall) => Promise<ExchangeResponse>;
