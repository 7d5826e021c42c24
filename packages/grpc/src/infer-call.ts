import type { OperationHandlers } from "@naiad/protocol";
import type { ForwardMetadata } from "./forward-metadata.ts";

/** One call that infers: what it works with, and what came with it. */
export interface InferCall {
  readonly handlers: OperationHandlers;
  readonly forwardMetadata: ForwardMetadata;
  readonly maxMessageSize: number;
  readonly headers: Headers;
  /** Fires when the call is over, however it ends. */
  readonly signal: AbortSignal;
}
