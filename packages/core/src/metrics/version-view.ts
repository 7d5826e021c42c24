import type { InstanceReport, ModelVersionStatistics } from "@naiad/protocol";
import type { ServingVersion } from "../lifecycle/serving-version.ts";
import type { KeptStates } from "../scheduling/scheduler.ts";
import type { ModelStatisticsDetails, PendingCount } from "../statistics/model-statistics.ts";
import type { Labels, SummaryValue, HistogramValue } from "./metric-family.ts";
import type { SummaryName } from "./model-latencies.ts";

/** What one model version has to tell, read at one moment. */
export interface VersionView {
  readonly labels: Labels;
  readonly statistics: ModelVersionStatistics;
  readonly details: ModelStatisticsDetails;
  readonly instances: readonly InstanceReport[];
  readonly pending: Readonly<PendingCount>;
  /** Absent where nothing is kept of sequences. */
  readonly keptStates: KeptStates | undefined;
  readonly loadDurationNs: number;
  readonly asksForCache: boolean;
  readonly summaries: Partial<Readonly<Record<SummaryName, SummaryValue>>>;
  readonly firstResponses: HistogramValue | undefined;
}

export function viewVersion(serving: ServingVersion): VersionView {
  const { modelName: model, config, scheduler, statistics, latencies, loadDurationNs } = serving;
  const version = String(serving.version);
  return {
    labels: { ...tagLabels(config.metricTags), model, version },
    statistics: statistics.snapshot({ name: model, version }),
    details: statistics.details(),
    instances: serving.instances(),
    pending: statistics.pending,
    keptStates: scheduler.keptStates?.(),
    loadDurationNs,
    asksForCache: config.responseCache?.enable === true,
    summaries: latencies.summaries(),
    firstResponses: latencies.firstResponses(),
  };
}

/** Prometheus allows letters, digits and `_` in the name of a label, and keeps those that begin with `__` to itself. */
function tagLabels(tags: Readonly<Record<string, string>>): Labels {
  const labelName = (tag: string): string => `_${tag}`.replace(/[^a-zA-Z0-9_]/g, "_").replace(/^__+/, "_");
  return Object.fromEntries(Object.entries(tags).map(([tag, value]) => [labelName(tag), value]));
}
