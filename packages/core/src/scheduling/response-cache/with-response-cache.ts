import type { ModelConfig } from "@naiad/model-config";
import type { Scheduler } from "../scheduler.ts";
import type { SchedulerOptions } from "../scheduler-options.ts";
import { CachingScheduler } from "./caching-scheduler.ts";
import type { ResponseCache } from "./response-cache.ts";

export interface CacheUse extends Pick<SchedulerOptions, "modelName" | "statistics" | "clock" | "logger"> {
  readonly config: ModelConfig;
  /** Absent where the server has none or the model does not enable it. */
  readonly responseCache: ResponseCache | undefined;
}

/**
 * The scheduler, behind the response cache where there is one. (Validation has refused the models that Triton does not
 * cache: those with sequences and those that are decoupled.)
 */
export function withResponseCache(scheduler: Scheduler, use: CacheUse): Scheduler {
  const { config, responseCache, modelName, statistics, clock, logger } = use;
  if (responseCache === undefined) return scheduler;
  const { schedulingChoice } = config;
  return new CachingScheduler({
    modelName,
    scheduler,
    partition: responseCache.openPartition(),
    preserveOrdering: schedulingChoice.case === "dynamicBatching" && schedulingChoice.value.preserveOrdering,
    statistics,
    clock,
    logger,
  });
}
