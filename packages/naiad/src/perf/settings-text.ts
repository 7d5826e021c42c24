import type { PerfModel } from "./perf-model.ts";
import { numberText } from "./report-numbers.ts";
import type { Measurement } from "./run-measurement.ts";

export interface SettingsContext {
  readonly model: Pick<PerfModel, "isDecoupled" | "isSequence">;
  /** Absent: as perf_analyzer chooses, which is by the model. It makes no difference here. */
  readonly calls?: "synchronous" | "asynchronous";
}

/** What is said before the first window, in perf_analyzer's layout. */
export function settingsLines(
  { data, load, rule }: Pick<Measurement, "data" | "load" | "rule">,
  { calls, model }: SettingsContext,
): readonly string[] {
  const { percentile } = rule;
  return [
    "*** Measurement Settings ***",
    `  Batch size: ${data.batchSize}`,
    "  Service Kind: Triton",
    ...windowLines(rule),
    ...loadLines(load, rule.latencyLimitNs),
    `  Using ${calls ?? (model.isSequence ? "asynchronous" : "synchronous")} calls for inference`,
    ...(model.isDecoupled
      ? ["  Detected decoupled model, using the first response for measuring latency"]
      : []),
    ...(load.kind === "concurrency" ? [] : ["  Latencies count from the time at which a request was due"]),
    `  Stabilizing using ${percentile === undefined ? "average" : `p${percentile}`} latency`,
  ];
}

function windowLines({ requestCount, warmupRequests, window }: Measurement["rule"]): readonly string[] {
  const warmup = warmupRequests > 0 ? [`  Requests to warm up: ${warmupRequests}`] : [];
  if (requestCount > 0) return [...warmup, `  Requests of each measurement: ${requestCount}`];
  switch (window.kind) {
    case "time":
      return [
        '  Using "time_windows" mode for stabilization',
        ...warmup,
        `  Measurement window: ${window.durationNs / 1e6} msec`,
      ];
    case "count":
      return [
        '  Using "count_windows" mode for stabilization',
        ...warmup,
        `  Minimum number of samples in each window: ${window.requests}`,
      ];
  }
}

function loadLines(load: Measurement["load"], latencyLimitNs: number): readonly string[] {
  if (load.kind === "intervals") return [];
  const { end, start } = load.range;
  const isRate = load.kind === "request-rate";
  return [
    ...(end === start ? [] : [`  Latency limit: ${latencyLimitNs / 1e6} msec`]),
    ...(end <= start
      ? []
      : [
          isRate
            ? `  Request Rate limit: ${numberText(end)} requests per seconds`
            : `  Concurrency limit: ${end} concurrent requests`,
        ]),
    ...(load.search === "binary" ? ["  Using Binary Search algorithm"] : []),
    ...(isRate
      ? [
          `  Using ${load.distribution === "constant" ? "uniform" : "poisson"} distribution on request generation`,
        ]
      : []),
  ];
}
