import type { ModelConfig } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";
import { DefaultScheduler } from "./default-scheduler.ts";
import { DynamicBatcher } from "./dynamic-batcher.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SchedulerOptions } from "./scheduler-options.ts";

/** The scheduler that the (normalised) configuration asks for. */
export function createScheduler(options: SchedulerOptions & { readonly config: ModelConfig }): Scheduler {
  const { config, modelName } = options;
  const choice = config.schedulingChoice;
  switch (choice.case) {
    case undefined:
      return new DefaultScheduler(options);
    case "dynamicBatching":
      return new DynamicBatcher(options, choice.value);
    case "sequenceBatching":
      throw new InferenceError(
        "UNSUPPORTED",
        `model '${modelName}' needs sequence batching, which is not supported yet`,
      );
    case "ensembleScheduling":
      throw new InferenceError(
        "UNSUPPORTED",
        `model '${modelName}' is an ensemble, which is not supported yet`,
      );
  }
}
