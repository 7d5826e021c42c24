import type { EdgeTracing, OperationHandlers } from "@naiad/protocol";
import type { CallHeaders } from "./call-context.ts";
import type { ForwardMetadata } from "./forward-metadata.ts";

/** One call that infers: what it works with, and what came with it. */
export interface InferCall {
  readonly handlers: OperationHandlers;
  /** Of the server behind them. */
  readonly tracing: EdgeTracing | undefined;
  readonly forwardMetadata: ForwardMetadata;
  readonly maxMessageSize: number;
  readonly headers: CallHeaders;
  /** Fires when the client has gone or the call's deadline has passed; it may fire too when the call is over. */
  readonly signal: AbortSignal;
}
