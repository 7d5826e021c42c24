import type { ModelStatistics } from "@naiad/protocol";
import type { LevelContext } from "./level-context.ts";
import type { ClosedWindow, MeasuredWindow } from "./measured-window.ts";
import { mergeWindows } from "./measured-window.ts";
import type { PerfLevel, PerfWindow } from "./perf-report.ts";
import type { MetricsSample } from "./server-metrics.ts";
import { summarizeMetrics } from "./server-metrics.ts";
import type { StatisticsPair } from "./server-split.ts";
import { composingSplit, serverSplit } from "./server-split.ts";
import { answered } from "./wait.ts";

/** A window with what the server said before and after it, by model. */
export interface ObservedWindow {
  readonly window: ClosedWindow;
  readonly looks: ReadonlyMap<string, StatisticsPair>;
  readonly samples: readonly MetricsSample[];
}

/** What the server says of each model. */
export type Looks = ReadonlyMap<string, ModelStatistics>;

/** Those of the model and of the ones behind it. */
export async function lookAtServer(
  { clock, composing, model, target }: LevelContext,
  signal: AbortSignal,
): Promise<Looks> {
  const found = new Map<string, ModelStatistics>();
  for (const name of new Set([model.name, ...composing.map((one) => one.name)])) {
    const statistics = await answered(target.modelStatistics(name), { clock, signal });
    if (statistics !== undefined) found.set(name, statistics);
  }
  return found;
}

export function pairLooks(before: Looks, after: Looks): ObservedWindow["looks"] {
  return new Map(
    [...before].flatMap(([name, first]) => {
      const second = after.get(name);
      return second === undefined ? [] : [[name, { before: first, after: second }] as const];
    }),
  );
}

/** What of a window its stability is judged by, and more that is told of it. */
export function figuresOf(window: MeasuredWindow, { data, rule }: LevelContext): PerfWindow {
  return {
    stdDevNs: window.latency.stdDevNs,
    inferencesPerSecond: perSecond(window.requests * data.batchSize, window),
    latencyNs:
      rule.percentile === undefined ? window.latency.meanNs : window.latency.atPercentile(rule.percentile),
  };
}

/** The result of the windows that count. */
export function summarizeWindows(
  observed: readonly ObservedWindow[],
  context: LevelContext,
): Omit<PerfLevel, "value" | "outcome" | "windows"> {
  const { composing, model } = context;
  const merged = mergeWindows(observed.map(({ window }) => window));
  const { latency } = merged;
  const looksAt = (name: string): readonly StatisticsPair[] | undefined => {
    const seen = observed.flatMap((one) => one.looks.get(name) ?? []);
    return seen.length < observed.length ? undefined : seen;
  };
  const own = looksAt(model.name);
  const server = own === undefined ? undefined : serverSplit(own, model.name, model.version);
  const samples = observed.flatMap((one) => one.samples);
  return {
    requests: merged.requests,
    responses: merged.responses,
    sequences: merged.sequences,
    sendsPerSecond: perSecond(merged.sent, merged),
    durationNs: merged.durationNs,
    inferencesPerSecond: figuresOf(merged, context).inferencesPerSecond,
    responsesPerSecond: perSecond(merged.responses, merged),
    latency: {
      meanNs: latency.meanNs,
      stdDevNs: latency.stdDevNs,
      p50Ns: latency.atPercentile(50),
      p90Ns: latency.atPercentile(90),
      p95Ns: latency.atPercentile(95),
      p99Ns: latency.atPercentile(99),
      maxNs: latency.atPercentile(100),
      judgedNs: figuresOf(merged, context).latencyNs,
    },
    ...(merged.phases !== undefined && { phases: merged.phases }),
    delayedRequests: merged.delayed,
    ...(server !== undefined && { server }),
    composing: composing.flatMap(({ name, version }) => {
      const seen = looksAt(name);
      return seen === undefined ? [] : [composingSplit(seen, name, version)];
    }),
    ...(context.metrics !== undefined && { metrics: summarizeMetrics(samples) }),
    windowBoundariesNs: [
      ...observed.slice(0, 1).map(({ window }) => window.startNs),
      ...observed.map(({ window }) => window.startNs + window.durationNs),
    ],
    moments: merged.moments,
  };
}

function perSecond(count: number, { durationNs }: MeasuredWindow): number {
  return durationNs === 0 ? 0 : count / (durationNs / 1e9);
}
