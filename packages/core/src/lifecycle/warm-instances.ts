import type { ModelSignature } from "@naiad/model-config";
import type { Backend, InstancePlacement, Logger, ModelInstance, ModelSpec } from "../ports.ts";
import type { WantedInstances } from "../scheduling/instance-group.ts";
import type { PlannedInstance } from "../scheduling/place-instances.ts";
import type { SequenceState } from "../scheduling/sequence/sequence-states.ts";
import type { InstanceCreator } from "./create-with-fallback.ts";
import { createInstanceCreator } from "./create-with-fallback.ts";
import { warmUp } from "./warm-up.ts";
import { warmUpSamples } from "./warm-up-samples.ts";

/** The instances of one model version: made on the device planned or the one it falls back to, and warmed up. */
export interface WarmInstances {
  /** For an instance group, which has them made now and whenever one was lost. */
  wanted(planned: readonly PlannedInstance[], signal: AbortSignal): WantedInstances;
  /** Why an instance runs on the CPU although it was placed on a GPU; `undefined` when it does not. */
  fallbackNote(instanceName: string): string | undefined;
}

export interface WarmInstancesOptions {
  readonly backend: Backend;
  readonly model: ModelSpec;
  readonly signature: ModelSignature;
  /** Of sequences. */
  readonly states: readonly SequenceState[];
  readonly logger: Logger;
}

export function createWarmInstances(options: WarmInstancesOptions): WarmInstances {
  const { backend, model, signature, states, logger } = options;
  const { modelName, config, files } = model;
  const { maxBatchSize } = signature;
  /** By name of the instance, the one that made it last. */
  const creators = new Map<string, InstanceCreator>();

  async function create(
    placement: InstancePlacement,
    creator: InstanceCreator,
    signal: AbortSignal,
  ): Promise<ModelInstance> {
    const { instanceName } = placement;
    creators.set(instanceName, creator);
    const samples = await warmUpSamples({ config, signature, files, states });
    const instance = await creator.create(placement, signal);
    await warmUp(instance, { samples, modelName, instanceName, maxBatchSize, logger, signal });
    return instance;
  }

  return {
    wanted: (planned, signal) => {
      const creator = createInstanceCreator({ backend, model, instances: planned, logger });
      return {
        placements: planned.map(({ placement }) => placement),
        create: (placement, createSignal) => create(placement, creator, createSignal),
        signal,
      };
    },
    fallbackNote: (instanceName) => creators.get(instanceName)?.fallbackNote(instanceName),
  };
}
