import type { ModelConfig, ModelSignature } from "@naiad/model-config";
import type { InstanceReport } from "@naiad/protocol";
import type { EnsembleRequirements } from "../ensemble/ensemble-plan.ts";
import type { ModelFile } from "../ports.ts";
import type { ModelLatencies } from "../metrics/model-latencies.ts";
import type { PlannedInstance } from "../scheduling/place-instances.ts";
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
  readonly latencies: ModelLatencies;
  /** From the decision to load it until it could serve, downloads included. */
  readonly loadDurationNs: number;
  /** What is worth telling about a load that succeeded, `""` when nothing. */
  readonly note: string;
  instances(): readonly InstanceReport[];
  /**
   * Workers in whose device memory its instances leave outputs for others, and read theirs. Absent where none ever does,
   * as in an ensemble, or where the outputs are wanted as bytes anyhow, for the response cache.
   */
  readonly deviceWorkers?: () => ReadonlySet<string>;
  /** A request that is no step of a sequence may be executed twice, and nobody can tell. */
  readonly isRepeatable?: true;
  /** Rejects with the reason where an instance says that it is not ready. Absent where being there is enough. */
  readonly checkReady?: () => Promise<void>;
  /** Makes the instances of other instance groups; the same version with them is what a commit gives. */
  prepareUpdate(update: InstanceUpdate, signal: AbortSignal): Promise<VersionUpdate>;
  /**
   * Keeps it able to take requests although it was retired, for an ensemble that has begun with it. The result, to be
   * called once, lets go.
   */
  hold(): () => void;
  /**
   * Once nobody holds it, refuses new requests, answers the accepted ones, then frees everything. Idempotent.
   */
  retire(): Promise<void>;
}

export interface InstanceUpdate {
  /** That is served from then on: different from that of the version in instance groups and version policy alone. */
  readonly config: ModelConfig;
  readonly instances: readonly PlannedInstance[];
}

/** Must be committed or abandoned. */
export interface VersionUpdate {
  /** In one step that no request can see. What it gives takes the place of the version that was updated. */
  commit(): ServingVersion;
  abandon(): Promise<void>;
}

/**
 * Whether any of its instances works or is being replaced; a version of which all were given up is not ready. An ensemble
 * has none.
 */
export function isWorking(serving: ServingVersion): boolean {
  const instances = serving.instances();
  return instances.length === 0 || instances.some(({ state }) => state !== "lost");
}

/**
 * What a model is loaded with: as it stands in the repository, or with a configuration and files that came with a load
 * request. Plain data, with which another server over the same store can load it again.
 */
export interface LoadOrigin {
  readonly modelName: string;
  /** JSON text in the place of the model's own configuration. */
  readonly config?: string;
  /** All files of the model, whose content the store holds. */
  readonly files?: readonly ModelFile[];
  /** Nobody asked for it by name: it serves for an ensemble. */
  readonly forOthers?: true;
}

/** What one load of a model is going to do. */
export interface LoadPlan {
  readonly origin: LoadOrigin;
  /** Ascending; empty when the version policy leaves nothing. */
  readonly versions: readonly number[];
  /** What to do where `versions` is empty. */
  readonly missingVersionHint: string;
  /** Absent for a model that needs no other. */
  readonly ensemble?: EnsembleNeeds;
  /**
   * Equal for two loads between which nothing of the version changed, or its instance groups alone. Then the served version
   * is updated in the place of a load. `undefined`: never, as for an ensemble, which has no instances.
   */
  reuseKey(version: number): string | undefined;
  /** Rejects with an InferenceError and leaves nothing behind. */
  load(version: number, signal: AbortSignal): Promise<ServingVersion>;
  /** Rejects with an InferenceError, and then nothing has changed. */
  update(serving: ServingVersion, signal: AbortSignal): Promise<VersionUpdate>;
}

/** What an ensemble needs of the models that it is made of. */
export interface EnsembleNeeds {
  /** By model, the versions that must be there; empty where any will do. */
  readonly requirements: EnsembleRequirements;
  /** Holds the ensemble against its models as they are served now. Throws INVALID_ARG with Triton's text. */
  validate(): void;
}

/** A model as a repository (or a load request) gives it. */
export interface PolledModel {
  /** Equal to the one of the last load: nothing changed. `undefined` counts as changed always. */
  readonly fingerprint: string | undefined;
  /** Reads the configuration and decides what to load; rejects with the reason why the model cannot be polled. */
  plan(signal: AbortSignal): Promise<LoadPlan>;
}
