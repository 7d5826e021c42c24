import type { InferenceError } from "@naiad/protocol";
import type { ExecutionTimes, InstanceOutcome } from "../ports.ts";
import type { QueuedRequest } from "./queued-request.ts";

/** A scheduler as its instances see it. */
export interface WorkSource {
  /** Called when an instance is free: the requests that it executes together, none of them answered, or `undefined`. */
  take(): readonly QueuedRequest[] | undefined;
  completed(execution: CompletedExecution): void;
  /** The request was taken and cannot be executed. */
  failed(request: QueuedRequest, error: InferenceError): void;
  /** No instance is left: everything that waits is to be answered with the error. */
  failWaiting(error: InferenceError): void;
}

export interface CompletedExecution {
  /** Some may have been answered meanwhile, because they were cancelled. */
  readonly requests: readonly QueuedRequest[];
  readonly outcomes: readonly InstanceOutcome[];
  readonly times: ExecutionTimes;
  readonly startNs: number;
  readonly isRetry: boolean;
}
