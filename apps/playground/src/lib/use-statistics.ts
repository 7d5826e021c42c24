import type { ModelStatistics, ModelVersionStatistics } from "naiad";
import { useCallback, useEffect, useState } from "react";
import { modelUrl } from "./v2.ts";

/** Mean nanoseconds of each part of a request. */
export interface TimeSplit {
  readonly requests: number;
  readonly queue: number;
  readonly input: number;
  readonly compute: number;
  readonly output: number;
}

export interface StatisticsView {
  readonly current: ModelVersionStatistics | undefined;
  /** Of the requests since the refresh before the last, where there were any. */
  readonly split: TimeSplit | undefined;
  refresh(): Promise<void>;
}

/** The statistics extension of a model, read again whenever `refresh` is called. */
export function useStatistics(model: string, ready: boolean): StatisticsView {
  const [{ current, split }, setState] = useState<Omit<StatisticsView, "refresh">>({
    current: undefined,
    split: undefined,
  });
  const refresh = useCallback(async () => {
    const response = await fetch(modelUrl(model, "/stats"));
    if (!response.ok) return;
    const { model_stats: all } = (await response.json()) as ModelStatistics;
    const next = all.at(-1);
    if (next !== undefined)
      setState((before) => ({ current: next, split: timeSplit(before.current, next) ?? before.split }));
  }, [model]);
  useEffect(() => {
    if (ready) void refresh().catch(() => undefined);
    else setState({ current: undefined, split: undefined });
  }, [ready, refresh]);
  return { current, split, refresh };
}

function timeSplit(
  before: ModelVersionStatistics | undefined,
  after: ModelVersionStatistics,
): TimeSplit | undefined {
  const mean = (part: "queue" | "compute_input" | "compute_infer" | "compute_output"): number => {
    const [old, now] = [before?.inference_stats[part], after.inference_stats[part]];
    const count = now.count - (old?.count ?? 0);
    return count <= 0 ? 0 : (now.ns - (old?.ns ?? 0)) / count;
  };
  const requests = after.inference_stats.success.count - (before?.inference_stats.success.count ?? 0);
  if (requests <= 0) return undefined;
  return {
    requests,
    queue: mean("queue"),
    input: mean("compute_input"),
    compute: mean("compute_infer"),
    output: mean("compute_output"),
  };
}
