import type { ModelSignature } from "@naiad/model-config";
import type { Clock, Logger } from "../ports.ts";
import type { ModelStatisticsRecorder } from "../statistics/model-statistics.ts";
import type { InstanceGroup } from "./instance-group.ts";

export interface SchedulerOptions {
  readonly modelName: string;
  readonly signature: ModelSignature;
  /** Serves this scheduler from now on. */
  readonly group: InstanceGroup;
  readonly statistics: ModelStatisticsRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}
