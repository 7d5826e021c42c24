import type { ExecutionTimes, InstanceOutcome, InstanceRequest } from "@naiad/core";
import type { WireError } from "@naiad/protocol";

/** How a fake instance answers one execution. Every kind takes `latencyNs` first (default: the backend's). */
export type FakeAnswer =
  /** `outcomes` default to the inputs under the names of the outputs. */
  | {
      readonly kind: "complete";
      readonly latencyNs?: number;
      readonly outcomes?: readonly InstanceOutcome[];
      readonly times?: ExecutionTimes;
      readonly nonFiniteOutputs?: number;
    }
  /** Every request gets this error. */
  | { readonly kind: "fail"; readonly latencyNs?: number; readonly error: WireError }
  | {
      readonly kind: "lose";
      readonly latencyNs?: number;
      readonly culprit: boolean;
      readonly reason?: string;
    }
  /**
   * Plays a script for each request, the last one for those beyond. The execution is over after its latency, whether they
   * are or not, and gives `outcomes`, by default `decoupled` for each.
   */
  | {
      readonly kind: "decoupled";
      readonly latencyNs?: number;
      readonly scripts: readonly (readonly FakeStep[])[];
      readonly outcomes?: readonly InstanceOutcome[];
    }
  /** No answer until the instance is lost. */
  | { readonly kind: "hang" };

/** What a decoupled request gets next. Steps wait for room; a cancelled request gets its end in the place of the rest. */
export type FakeStep = { readonly afterNs?: number } & (
  | { readonly kind: "response"; readonly value: number; readonly final?: true }
  | { readonly kind: "error"; readonly error: WireError; readonly final?: true }
  | { readonly kind: "end"; readonly error?: WireError }
);

export interface FakeExecution {
  readonly instanceName: string;
  /** 0 for the first instance made for a placement, 1 for its first replacement, ... */
  readonly generation: number;
  readonly requests: readonly InstanceRequest[];
  readonly requestIds: readonly string[];
  /** Sum of batch sizes, counting at least 1 for each request. */
  readonly rows: number;
  readonly startNs: number;
}
