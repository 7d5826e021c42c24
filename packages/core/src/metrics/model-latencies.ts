import type { ModelConfig } from "@naiad/model-config";
import type { MetricsConfig } from "@naiad/protocol";
import type { Clock } from "../ports.ts";
import type { RequestTimes } from "../scheduling/scheduler.ts";
import { Histogram } from "./histogram.ts";
import type { HistogramValue, SummaryValue } from "./metric-family.ts";
import { QuantileWindow } from "./quantile-window.ts";

/** Durations of which there are summaries. */
const SUMMARIES = [
  "request",
  "queue",
  "computeInput",
  "computeInfer",
  "computeOutput",
  "cacheHit",
  "cacheMiss",
] as const;
export type SummaryName = (typeof SUMMARIES)[number];

/** How the durations of one model version are distributed, as far as the metrics configuration asks for it. */
export interface ModelLatencies {
  succeeded(durationNs: number, times: RequestTimes): void;
  cacheHit(lookupNs: number): void;
  cacheMissed(durationNs: number): void;
  /** The first response of a request, an error or not. */
  responded(durationNs: number): void;
  /** In microseconds. */
  summaries(): Partial<Readonly<Record<SummaryName, SummaryValue>>>;
  /** In milliseconds; `undefined` where nobody asked for it. */
  firstResponses(): HistogramValue | undefined;
}

export interface ModelLatenciesOptions {
  readonly metrics: MetricsConfig;
  readonly config: ModelConfig;
  /** Whether the response cache may answer for this model. */
  readonly isCached: boolean;
  readonly clock: Pick<Clock, "nowNs">;
}

export function createModelLatencies(options: ModelLatenciesOptions): ModelLatencies {
  const { metrics, config, isCached, clock } = options;
  const windows = new Map(
    SUMMARIES.filter((name) => metrics.summaryLatencies && isTold(name, isCached)).map((name) => [
      name,
      new QuantileWindow({ targets: metrics.summaryQuantiles, clock }),
    ]),
  );
  const firstResponses = metrics.histogramLatencies ? new Histogram(bucketsOf(config)) : undefined;

  const observe = (name: SummaryName, ns: number): void => {
    windows.get(name)?.observe(Math.floor(Math.max(0, ns) / 1000));
  };

  return {
    succeeded: (durationNs, { queueNs, computeInputNs, computeInferNs, computeOutputNs }) => {
      if (windows.size === 0) return;
      observe("request", durationNs);
      observe("queue", queueNs);
      observe("computeInput", computeInputNs);
      observe("computeInfer", computeInferNs);
      observe("computeOutput", computeOutputNs);
    },
    cacheHit: (lookupNs) => {
      observe("queue", 0);
      observe("cacheHit", lookupNs);
    },
    cacheMissed: (durationNs) => {
      observe("cacheMiss", durationNs);
    },
    responded: (durationNs) => firstResponses?.observe(Math.floor(Math.max(0, durationNs) / 1e6)),
    summaries: () => Object.fromEntries([...windows].map(([name, window]) => [name, window.value()])),
    firstResponses: () => firstResponses?.value(),
  };
}

/** As in Triton a model with a cache has no summary of whole requests: hits would make two kinds of requests one. */
function isTold(name: SummaryName, isCached: boolean): boolean {
  switch (name) {
    case "request":
      return !isCached;
    case "cacheHit":
    case "cacheMiss":
      return isCached;
    case "queue":
    case "computeInput":
    case "computeInfer":
    case "computeOutput":
      return true;
  }
}

export const FIRST_RESPONSE_HISTOGRAM = "nv_inference_first_response_histogram_ms";

const DEFAULT_BUCKETS: readonly number[] = [100, 500, 2000, 5000];

/** The model's own where `model_metrics` names them, the last ones where it does so twice. */
function bucketsOf({ modelMetrics }: ModelConfig): readonly number[] {
  const control = modelMetrics?.metricControl.findLast(
    ({ metricIdentifier }) => metricIdentifier?.family === FIRST_RESPONSE_HISTOGRAM,
  );
  const options = control?.metricOptions;
  if (options?.case !== "histogramOptions") return DEFAULT_BUCKETS;
  return [...new Set(options.value.buckets)].filter(Number.isFinite).sort((a, b) => a - b);
}

/** Triton's warnings about families of `model_metrics` of which it knows nothing. */
export function metricControlWarnings({ modelMetrics }: ModelConfig): readonly string[] {
  return (modelMetrics?.metricControl ?? []).flatMap(({ metricIdentifier }) => {
    const family = metricIdentifier?.family ?? "";
    if (family === FIRST_RESPONSE_HISTOGRAM) return [];
    return [`Metric family '${family}' in 'metric_identifier' is not a customizable metric in Triton core.`];
  });
}
