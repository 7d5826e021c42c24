import type { ModelConfig, ModelSignature } from "@naiad/model-config";
import type { InstanceReport } from "@naiad/protocol";
import type { Scheduler } from "../scheduling/scheduler.ts";
import type { ModelStatisticsRecorder } from "../statistics/model-statistics.ts";
import type { OutputLabels } from "./read-labels.ts";

/** One version of a model, loaded and ready for requests. */
export interface ServingVersion {
  readonly modelName: string;
  readonly version: number;
  /** Completed and normalised: what `/config` shows. */
  readonly config: ModelConfig;
  readonly signature: ModelSignature;
  readonly labels: OutputLabels;
  readonly scheduler: Scheduler;
  readonly statistics: ModelStatisticsRecorder;
  /** What is worth telling about a load that succeeded, `""` when nothing. */
  readonly note: string;
  instances(): readonly InstanceReport[];
  /** Refuses new requests, answers the accepted ones, then frees everything. Idempotent. */
  retire(): Promise<void>;
}

/** Whether any of its instances works or is being replaced; a version of which all were given up is not ready. */
export function isWorking(serving: ServingVersion): boolean {
  return serving.instances().some(({ state }) => state !== "lost");
}

/** What one load of a model is going to do. */
export interface LoadPlan {
  /** Ascending; empty when the version policy leaves nothing. */
  readonly versions: readonly number[];
  /** Rejects with an InferenceError and leaves nothing behind. */
  load(version: number, signal: AbortSignal): Promise<ServingVersion>;
}

/** A model as a repository (or a load request) gives it. */
export interface PolledModel {
  /** Equal to the one of the last load: nothing changed. `undefined` counts as changed always. */
  readonly fingerprint: string | undefined;
  /** Reads the configuration and decides what to load; rejects with the reason why the model cannot be polled. */
  plan(signal: AbortSignal): Promise<LoadPlan>;
}
