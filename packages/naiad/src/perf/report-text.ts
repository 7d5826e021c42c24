import type { PerfLevel, PerfReport } from "./perf-report.ts";
import type { Measurement } from "./run-measurement.ts";
import type { ServerSplit } from "./server-split.ts";

/** What is said before the first window, in perf_analyzer's layout. */
export function settingsLines({
  data,
  load,
  rule,
}: Pick<Measurement, "data" | "load" | "rule">): readonly string[] {
  const { requestCount, window, percentile, latencyLimitNs } = rule;
  const windows =
    requestCount > 0
      ? [`  Requests of each measurement: ${requestCount}`]
      : window.kind === "time"
        ? [
            '  Using "time_windows" mode for stabilization',
            `  Measurement window: ${window.durationNs / 1e6} msec`,
          ]
        : [
            '  Using "count_windows" mode for stabilization',
            `  Minimum number of samples in each window: ${window.requests}`,
          ];
  return [
    "*** Measurement Settings ***",
    `  Batch size: ${data.batchSize}`,
    "  Service Kind: TRITON",
    ...windows,
    ...(latencyLimitNs > 0 ? [`  Latency limit: ${latencyLimitNs / 1e6} msec`] : []),
    ...(load.kind === "request-rate" ? [`  Using ${load.distribution} intervals between requests`] : []),
    ...(load.kind === "concurrency" ? [] : ["  Latencies count from the time at which a request was due"]),
    `  Stabilizing using ${percentile === undefined ? "average" : `p${percentile}`} latency`,
  ];
}

/** One level, in perf_analyzer's layout: client, server, models of an ensemble. */
export function levelLines(
  level: PerfLevel,
  report: Pick<PerfReport, "load" | "transport" | "percentile">,
): readonly string[] {
  const { composing, server } = level;
  return [
    `${LEVEL_NAMES[report.load]}: ${numberText(level.value)}`,
    ...clientLines(level, report),
    ...(server === undefined
      ? ["  Server: keeps no statistics"]
      : ["  Server:", ...serverLines(server, "    ")]),
    ...(Object.keys(composing).length > 0 ? ["", "  Composing models:"] : []),
    ...Object.entries(composing).flatMap(([name, split]) => [`  ${name}:`, ...serverLines(split, "      ")]),
    ...outcomeLines(level),
  ];
}

const LEVEL_NAMES: Readonly<Record<PerfReport["load"], string>> = {
  concurrency: "Request concurrency",
  "request-rate": "Request Rate",
  intervals: "Request Rate",
};

function clientLines(
  level: PerfLevel,
  { percentile, transport }: Pick<PerfReport, "transport" | "percentile">,
): readonly string[] {
  const { latency, phases } = level;
  const percentiles = [
    [50, latency.p50Ns],
    [90, latency.p90Ns],
    [95, latency.p95Ns],
    [99, latency.p99Ns],
  ] as const;
  const isOther = percentile !== undefined && !percentiles.some(([percent]) => percent === percentile);
  return [
    "  Client:",
    `    Request count: ${level.requests}`,
    ...(level.delayedRequests > 0 ? [`    Delayed request count: ${level.delayedRequests}`] : []),
    `    Throughput: ${numberText(level.inferencesPerSecond)} infer/sec`,
    ...(level.responses > level.requests
      ? [`    Response throughput: ${numberText(level.responsesPerSecond)} infer/sec`]
      : []),
    `    Avg latency: ${usec(latency.meanNs)} usec (standard deviation ${usec(latency.stdDevNs)} usec)`,
    ...percentiles.map(([percent, ns]) => `    p${percent} latency: ${usec(ns)} usec`),
    ...(isOther ? [`    p${percentile} latency: ${usec(latency.judgedNs)} usec`] : []),
    ...(phases === undefined
      ? []
      : [
          `    Avg ${transport} time: ${usec(latency.meanNs)} usec (send/recv ${usec(phases.sendNs + phases.receiveNs)} usec + ` +
            `response wait ${usec(latency.meanNs - phases.sendNs - phases.receiveNs)} usec)`,
        ]),
  ];
}

function serverLines(split: ServerSplit, indent: string): readonly string[] {
  const { cache } = split;
  return [
    `Inference count: ${split.inferences}`,
    `Execution count: ${split.executions}`,
    ...(cache === undefined ? [] : [`Cache hit count: ${cache.hits}`, `Cache miss count: ${cache.misses}`]),
    `Successful request count: ${split.requests}`,
    `Avg request latency: ${usec(split.requestNs)} usec (overhead ${usec(split.overheadNs)} usec + ` +
      `queue ${usec(split.queueNs)} usec + compute input ${usec(split.computeInputNs)} usec + ` +
      `compute infer ${usec(split.computeInferNs)} usec + compute output ${usec(split.computeOutputNs)} usec)`,
    ...(cache === undefined
      ? []
      : [
          `Average Cache Hit Latency: ${usec(cache.hitNs)} usec`,
          `Average Cache Miss Latency: ${usec(cache.missNs)} usec (cache lookup/insertion)`,
        ]),
  ].map((line) => indent + line);
}

/** What a reader must know before believing the numbers. */
function outcomeLines({ outcome, windows, delayedRequests, requests }: PerfLevel): readonly string[] {
  const late =
    delayedRequests > requests / 20
      ? ["  Warning: more than 5 % of the requests were sent late, the client cannot keep up with this rate."]
      : [];
  switch (outcome) {
    case "stable":
    case "counted":
      return late;
    case "unstable":
      return [
        ...late,
        `  Warning: the last of ${windows.length} windows still differ too much. Make them longer with ` +
          "--measurement-interval or --measurement-request-count, or allow more with -s.",
      ];
    case "over-limit":
      return [...late, "  Latency is over its limit."];
  }
}

/** All levels in a line each, as perf_analyzer ends. */
export function summaryLines({ levels, load, percentile }: PerfReport): readonly string[] {
  const name = load === "concurrency" ? "Concurrency" : "Request Rate";
  return [
    `Inferences/Second vs. Client ${percentile === undefined ? "Average" : `p${percentile}`} Batch Latency`,
    ...levels.map(
      ({ value, inferencesPerSecond, latency }) =>
        `${name}: ${numberText(value)}, throughput: ${numberText(inferencesPerSecond)} infer/sec, latency ${usec(latency.judgedNs)} usec`,
    ),
  ];
}

function usec(ns: number): string {
  return String(Math.round(Math.max(ns, 0) / 1e3));
}

/** At most three digits behind the point. */
export function numberText(value: number): string {
  return String(Number(value.toFixed(3)));
}
