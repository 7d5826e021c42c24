import type { ModelConfig } from "@naiad/model-config";
import { DefaultScheduler } from "./default-scheduler.ts";
import { DynamicBatcher } from "./dynamic-batcher.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SchedulerOptions } from "./scheduler-options.ts";
import { SequenceBatcher } from "./sequence/sequence-batcher.ts";
import type { SequenceState } from "./sequence/sequence-states.ts";

/** The scheduler that the (normalised) configuration asks for. */
export function createScheduler(
  options: SchedulerOptions & {
    readonly config: ModelConfig;
    /** Of sequences; none if absent. */
    readonly states?: readonly SequenceState[];
  },
): Scheduler {
  const { config, modelName } = options;
  const choice = config.schedulingChoice;
  switch (choice.case) {
    case undefined:
      return new DefaultScheduler(options);
    case "dynamicBatching":
      return new DynamicBatcher(options, choice.value);
    case "sequenceBatching":
      return new SequenceBatcher({ states: [], ...options }, choice.value);
    case "ensembleScheduling":
      throw new Error(`ensemble '${modelName}' has no instances to schedule for`);
  }
}
