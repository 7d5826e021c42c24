import type { InferenceError, InstanceReport } from "@naiad/protocol";
import type { InstancePlacement, ModelInstance } from "../ports.ts";
import type { WorkSource } from "./work-source.ts";

/** The instances that there are to be. */
export interface WantedInstances {
  readonly placements: readonly InstancePlacement[];
  readonly create: (placement: InstancePlacement, signal: AbortSignal) => Promise<ModelInstance>;
  /** Ends their start; afterwards `dispose` does. */
  readonly signal: AbortSignal;
}

/** The live instances of one model version. */
export interface InstanceGroup {
  readonly instanceCount: number;
  /** Instances that wait for work and could execute it now. */
  readonly idleCount: number;
  /** Instances that work now, in the order of the configuration; not those that are being replaced or were given up. */
  readonly instanceNames: readonly string[];
  /** See `Backend.keepsState`. */
  readonly keepsState: boolean;
  /** Workers in whose device memory instances that work now leave outputs and read inputs. */
  readonly deviceWorkers: ReadonlySet<string>;
  /** The one source of its work. */
  serve(source: WorkSource): void;
  /** The source may have work. */
  wake(): void;
  /**
   * UNAVAILABLE when no instance works and none is being replaced; `undefined` otherwise. Asking may start another
   * attempt to replace them, once enough time has passed.
   */
  refusal(): InferenceError | undefined;
  status(): readonly InstanceReport[];
  /** Asks the instances that work whether they are ready. Rejects with the first reason why one is not. */
  checkReady(): Promise<void>;
  /**
   * Makes the instances that are wanted and not there yet; one of the same name on the same device stays. Nothing changes
   * before the result is committed. Rejects with the first error after disposing those that were made.
   */
  prepare(wanted: WantedInstances): Promise<PreparedInstances>;
  /** Takes no more work, waits for what is executing, frees everything. Idempotent. */
  dispose(): Promise<void>;
}

/** Must be committed or abandoned. */
export interface PreparedInstances {
  /** From now on these instances do the work; the others finish what they execute and are freed. */
  commit(): void;
  abandon(): Promise<void>;
}
