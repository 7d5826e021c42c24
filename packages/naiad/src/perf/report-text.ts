import type { PerfLevel, PerfReport, PerfWindow } from "./perf-report.ts";
import { numberText, percentileNs, percentilesTold, rateText, usec } from "./report-numbers.ts";
import type { ServerMetrics } from "./server-metrics.ts";
import type { ComposingSplit, ServerSplit } from "./server-split.ts";

/** One window, as perf_analyzer tells of it with -v. */
export function windowLine(index: number, window: PerfWindow, percentile: number | undefined): string {
  const latency =
    percentile === undefined
      ? `Avg latency: ${usec(window.latencyNs)} usec (std ${usec(window.stdDevNs)} usec).`
      : `p${percentile} latency: ${usec(window.latencyNs)} usec.`;
  return `  Pass [${index}] throughput: ${numberText(window.inferencesPerSecond)} infer/sec. ${latency}`;
}

/** What stands above a level. */
export function levelHeader(value: number, load: PerfReport["load"]): string {
  return load === "concurrency"
    ? `Request concurrency: ${value}`
    : `Request Rate: ${numberText(value)} inference requests per seconds`;
}

type LevelContext = Pick<PerfReport, "load" | "transport" | "percentile">;

/** One level, in perf_analyzer's layout: client, server, models of an ensemble. Without its header. */
export function levelLines(level: PerfLevel, report: LevelContext): readonly string[] {
  const { composing, metrics, server } = level;
  return [
    ...clientLines(level, report),
    ...(server === undefined
      ? ["  Server: keeps no statistics"]
      : ["  Server:", ...serverLines(server, "    ", composing)]),
    ...(composing.length > 0 ? ["", "  Composing models:"] : []),
    ...composing.flatMap((split, index) => [
      ...(index === 0 ? [] : [""]),
      `  ${split.name}, version: ${split.version}`,
      ...serverLines(split, "      ", []),
    ]),
    ...(metrics === undefined ? [] : ["", "  Server Prometheus Metrics:", ...metricsLines(metrics)]),
    ...outcomeLines(level, report),
  ];
}

function clientLines(level: PerfLevel, { load, percentile, transport }: LevelContext): readonly string[] {
  const { latency, phases } = level;
  const perSecond = load === "concurrency" ? numberText : rateText;
  return [
    "  Client:",
    `    Request count: ${level.requests}`,
    ...delayLines(level),
    ...(level.sequences > 0
      ? [
          `    Sequence count: ${level.sequences} (${perSecond(level.sequences / (level.durationNs / 1e9))} seq/sec)`,
        ]
      : []),
    `    Throughput: ${perSecond(level.inferencesPerSecond)} infer/sec`,
    ...(level.responses > level.requests
      ? [`    Response Throughput: ${perSecond(level.responsesPerSecond)} infer/sec`]
      : []),
    ...(percentile === undefined
      ? [`    Avg latency: ${usec(latency.meanNs)} usec (standard deviation ${usec(latency.stdDevNs)} usec)`]
      : []),
    ...percentilesTold(percentile).map(
      (percent) => `    p${percent} latency: ${usec(percentileNs(level, percent))} usec`,
    ),
    ...(phases === undefined ? [] : [phaseLine(latency.meanNs, phases, transport)]),
  ];
}

function delayLines({ delayedRequests, requests, sendsPerSecond }: PerfLevel): readonly string[] {
  if (delayedRequests === 0) return [];
  return [
    `    Avg send request rate: ${rateText(sendsPerSecond)} infer/sec`,
    "    [WARNING] The client was not able to keep up with the desired request rate. " +
      `${rateText((delayedRequests / requests) * 100)}% of the requests were delayed.`,
  ];
}

function phaseLine(meanNs: number, phases: NonNullable<PerfLevel["phases"]>, transport: string): string {
  const clientNs = phases.sendNs + phases.receiveNs;
  const what = transport === "gRPC" ? "(un)marshal request/response" : "send/recv";
  return (
    `    Avg ${transport} time: ${usec(meanNs)} usec ` +
    `(${what} ${usec(clientNs)} usec + response wait ${usec(meanNs - clientNs)} usec)`
  );
}

/** Of an ensemble the parts are those of its models together. */
function serverLines(
  split: ServerSplit,
  indent: string,
  composing: readonly ComposingSplit[],
): readonly string[] {
  const { cache } = split;
  return [
    `Inference count: ${split.inferences}`,
    `Execution count: ${split.executions}`,
    ...(cache === undefined ? [] : [`Cache hit count: ${cache.hits}`, `Cache miss count: ${cache.misses}`]),
    `Successful request count: ${split.requests}`,
    `Avg request latency: ${usec(split.requestNs)} usec (${partsText(split, composing)})`,
    ...(cache === undefined
      ? []
      : [
          `Average Cache Hit Latency: ${usec(cache.hitNs)} usec`,
          `Average Cache Miss Latency: ${usec(cache.missNs)} usec (cache lookup/insertion)`,
        ]),
  ].map((line) => indent + line);
}

function partsText(split: ServerSplit, composing: readonly ComposingSplit[]): string {
  if (composing.length > 0) {
    const sum = (ns: (of: ServerSplit) => number): number =>
      composing.reduce((total, of) => total + ns(of), 0);
    const queueNs = sum((of) => of.queueNs);
    const computeNs = sum((of) => of.computeInputNs + of.computeInferNs + of.computeOutputNs);
    const overheadNs = split.requestNs - queueNs - computeNs;
    return `overhead ${usec(overheadNs)} usec + queue ${usec(queueNs)} usec + compute ${usec(computeNs)} usec`;
  }
  return (
    `overhead ${usec(split.overheadNs)} usec + queue ${usec(split.queueNs)} usec + ` +
    `compute input ${usec(split.computeInputNs)} usec + compute infer ${usec(split.computeInferNs)} usec + ` +
    `compute output ${usec(split.computeOutputNs)} usec`
  );
}

function metricsLines(metrics: ServerMetrics): readonly string[] {
  const { cpuMemoryUsed, cpuUtilization } = metrics;
  const block = (
    title: string,
    values: Readonly<Record<string, number>>,
    text: (value: number) => string,
  ): readonly string[] => [
    `    ${title}:`,
    ...Object.entries(values).map(([uuid, value]) => `      ${uuid} : ${text(value)}`),
  ];
  return [
    ...block("Avg GPU Utilization", metrics.gpuUtilization, (share) => `${numberText(share * 100)}%`),
    ...block("Avg GPU Power Usage", metrics.gpuPowerUsage, (watts) => `${numberText(watts)} watts`),
    ...block("Max GPU Memory Usage", metrics.gpuMemoryUsed, (bytes) => `${bytes} bytes`),
    ...block("Total GPU Memory", metrics.gpuMemoryTotal, (bytes) => `${bytes} bytes`),
    ...(cpuUtilization === undefined
      ? []
      : [`    Avg CPU Utilization: ${numberText(cpuUtilization * 100)}%`]),
    ...(cpuMemoryUsed === undefined ? [] : [`    Max CPU Memory Usage: ${cpuMemoryUsed} bytes`]),
  ];
}

/** What a reader must know before believing the numbers. */
function outcomeLines({ outcome, value, windows }: PerfLevel, { load }: LevelContext): readonly string[] {
  switch (outcome) {
    case "stable":
    case "counted":
      return [];
    case "unstable": {
      const level = load === "concurrency" ? `concurrency ${value}` : `request rate ${numberText(value)}`;
      return [
        `Failed to obtain stable measurement within ${windows.length} measurement windows for ${level}. ` +
          "Please try to increase the --measurement-interval, the --measurement-request-count, or -s.",
      ];
    }
    case "over-limit":
      return ["Measured latency went over the set limit."];
  }
}

/** The levels that count, by perf_analyzer's rule: those whose latency is within the limit. */
export function levelsWithinLimit(levels: readonly PerfLevel[]): readonly PerfLevel[] {
  return levels.filter(({ outcome }) => outcome !== "over-limit");
}

/** All levels in a line each, as perf_analyzer ends. */
export function summaryLines({ levels, load, percentile }: PerfReport): readonly string[] {
  const isRate = load !== "concurrency";
  const name = isRate ? "Request Rate" : "Concurrency";
  const text = isRate ? rateText : numberText;
  return [
    `Inferences/Second vs. Client ${percentile === undefined ? "Average" : `p${percentile}`} Batch Latency`,
    ...levelsWithinLimit(levels).map(
      ({ value, inferencesPerSecond, latency }) =>
        `${name}: ${text(value)}, throughput: ${text(inferencesPerSecond)} infer/sec, latency ${usec(latency.judgedNs)} usec`,
    ),
  ];
}
