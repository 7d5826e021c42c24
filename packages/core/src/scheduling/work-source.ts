import type { InferenceError } from "@naiad/protocol";
import type {
  DeviceMemory,
  ExecutionTimes,
  InstanceOutcome,
  InstanceRequest,
  InstanceResponse,
} from "../ports.ts";
import type { QueuedRequest } from "./queued-request.ts";
import type { RequestTimes } from "./scheduler.ts";

/** A scheduler as its instances see it. */
export interface WorkSource {
  /**
   * Called when the instance of this name is free: what it executes together, or `undefined`. None of the requests behind
   * it is answered, and there is at least one.
   */
  take(instanceName: string): readonly BatchEntry[] | undefined;
  /** Whether anything waits that the instance of this name may execute, now or once the source lets it go. */
  hasWork(instanceName: string): boolean;
  /**
   * The same execution that `answers.complete` is told of, before its instance asks for more: for a source whose next work
   * depends on what came out.
   */
  executed?(execution: CompletedExecution): void;
  /** Where the answers to what was taken go. */
  readonly answers: WorkAnswers;
  /** The request was taken and cannot be executed. */
  failed(request: QueuedRequest, error: InferenceError): void;
  /** No instance is left: everything that waits is to be answered with the error. */
  failWaiting(error: InferenceError): void;
  /** An instance died, idle or not, with everything that it had in memory. `failed` follows for what it executed. */
  instanceLost?(instanceName: string, reason: string): void;
  /** `instanceNames` of the group is not what it was. */
  instancesChanged?(): void;
}

export interface WorkAnswers {
  complete(execution: CompletedExecution): void;
  /**
   * A response of a decoupled request, before or after `complete`. Resolves when there is room for another, at once where
   * nobody waits any more.
   */
  respond(request: QueuedRequest, response: DecoupledResponse): Promise<void>;
  /** A decoupled request has had its last response, before or after `complete`. */
  end(request: QueuedRequest, end: DecoupledEnd): void;
}

/** `final`: it is the last one, and `end` follows at once. */
export type DecoupledResponse = InstanceResponse & { readonly final?: true };

export interface DecoupledEnd {
  readonly times: RequestTimes;
  /** `with-response`: no flag of its own came for the end. */
  readonly flag: "alone" | "with-response";
}

/** One row of an execution as the instance sees it, and who waits for its outcome. */
export interface BatchEntry {
  readonly executed: InstanceRequest;
  /** `undefined` where it only fills a place in the batch. */
  readonly request: QueuedRequest | undefined;
}

export interface CompletedExecution {
  /** Some requests may have been answered meanwhile, because they were cancelled. */
  readonly entries: readonly BatchEntry[];
  /** One per entry. */
  readonly outcomes: readonly InstanceOutcome[];
  /** In which outputs lie that were kept on a device. */
  readonly deviceMemory?: DeviceMemory | undefined;
  readonly times: ExecutionTimes;
  readonly startNs: number;
  readonly isRetry: boolean;
}
