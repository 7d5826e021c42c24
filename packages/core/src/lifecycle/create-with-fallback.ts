import { InferenceError } from "@naiad/protocol";
import type { Backend, InstancePlacement, Logger, ModelInstance, ModelSpec } from "../ports.ts";
import type { PlannedInstance } from "../scheduling/place-instances.ts";

/** Creates the instances of one loaded version, now and whenever one was lost. */
export interface InstanceCreator {
  /** Rejects as `Backend.createInstance`, except that a GPU which cannot run the model is replaced by the CPU if it may be. */
  create(placement: InstancePlacement, signal: AbortSignal): Promise<ModelInstance>;
  /** Why an instance runs on the CPU although it was placed on a GPU; `undefined` when it does not. */
  fallbackNote(instanceName: string): string | undefined;
}

export interface InstanceCreatorOptions {
  readonly backend: Backend;
  readonly model: ModelSpec;
  readonly instances: readonly PlannedInstance[];
  readonly logger: Logger;
}

export function createInstanceCreator(options: InstanceCreatorOptions): InstanceCreator {
  const { backend, model, logger } = options;
  const planned = new Map(options.instances.map((instance) => [instance.placement.instanceName, instance]));
  /** A GPU that refused the model once refuses it again. */
  const fallbacks = new Map<string, InstancePlacement>();

  return {
    create: async (placement, signal) => {
      const { instanceName } = placement;
      const known = fallbacks.get(instanceName);
      if (known !== undefined) return backend.createInstance({ model, placement: known }, signal);
      const alternative = planned.get(instanceName)?.cpuAlternative;
      if (alternative === undefined) return backend.createInstance({ model, placement }, signal);
      try {
        return await backend.createInstance({ model, placement }, signal);
      } catch (thrown) {
        const error = InferenceError.from(thrown);
        if (error.code !== "UNSUPPORTED") throw error;
        const note = `runs on the CPU because the GPU cannot run it: ${error.message}`;
        const fallback = { ...alternative, note };
        logger.log("warning", `instance ${instanceName} of model ${model.modelName} ${note}`);
        fallbacks.set(instanceName, fallback);
        return backend.createInstance({ model, placement: fallback }, signal);
      }
    },
    fallbackNote: (instanceName) => fallbacks.get(instanceName)?.note,
  };
}
