import type { DeviceMemory, ExecuteContext, ExecutionResult, InstanceRequest, LossResult } from "@naiad/core";
import type { DeviceReport, InferenceError, WatchdogLimits } from "@naiad/protocol";
import type { InstanceCreate } from "../contracts.ts";

export interface InstanceOrder {
  readonly instanceId: string;
  readonly limits: WatchdogLimits;
  /** Made anew for each attempt, because its buffers change hands. */
  message(): Promise<{ readonly input: InstanceCreate; readonly transfer: readonly Transferable[] }>;
}

export type CreateResult =
  | { readonly kind: "created"; readonly instance: RemoteInstance }
  /** The instance could not be made; the worker itself is sound. */
  | { readonly kind: "failed"; readonly error: InferenceError }
  /** The worker could not start and has been ended; one that starts differently may do better. */
  | { readonly kind: "start-failed"; readonly error: InferenceError }
  | LossResult;

/** A model instance in a worker. Same promises as core's `ModelInstance`, except that `transfer` gives buffers away. */
export interface RemoteInstance {
  readonly device: DeviceReport;
  /** proto3 binary of the completed configuration, where that alone was asked for. */
  readonly config?: Uint8Array;
  /** Of its worker. */
  readonly deviceMemory: DeviceMemory;
  execute(
    requests: readonly InstanceRequest[],
    transfer: readonly Transferable[],
    context?: ExecuteContext,
  ): Promise<ExecutionResult>;
  /** Rejects with the reason where the model says that it is not ready, or says nothing in time. */
  checkReady(): Promise<void>;
  readonly lost: Promise<string>;
  dispose(): Promise<void>;
}
