import type { PerfLevel, PerfReport } from "./perf-report.ts";
import { numberText, percentileNs, percentilesTold, usec } from "./report-numbers.ts";
import { levelsWithinLimit } from "./report-text.ts";
import type { ServerMetrics } from "./server-metrics.ts";
import type { ComposingSplit, ServerSplit } from "./server-split.ts";

export interface CsvOptions {
  /** More columns: the mean, the halves of the time over the network, and metrics where they were read. */
  readonly verbose: boolean;
}

/** perf_analyzer's CSV: a row for each level that counts, by rising throughput, in microseconds. */
export function reportCsv(report: PerfReport, { verbose }: CsvOptions): string {
  const levels = sortedLevels(report);
  const shape = {
    verbose,
    hasCache: hasCache(levels),
    isDecoupled: levels.some(({ requests, responses }) => responses > requests),
    hasMetrics: levels.some(({ metrics }) => metrics !== undefined),
  };
  return csv(columnsOf(report, shape), levels);
}

export interface ComposingCsv {
  readonly name: string;
  readonly version: string;
  readonly text: string;
}

/** A table for each model of an ensemble, as perf_analyzer has them in files of their own. */
export function composingCsvs(report: PerfReport): readonly ComposingCsv[] {
  const levels = sortedLevels(report);
  const models = new Map(
    levels.flatMap(({ composing }) => composing.map((split) => [keyOf(split), split] as const)),
  );
  return [...models].map(([key, { name, version }]) => {
    const splitOf = ({ composing }: PerfLevel): ComposingSplit | undefined =>
      composing.find((split) => keyOf(split) === key);
    const columns: readonly Column[] = [
      levelColumn(report),
      ["Inferences/Second", (level) => numberText(perSecond(level, splitOf(level)))],
      ["Client Send", () => "0"],
      ["Network+Server Send/Recv", (level) => usec(splitOf(level)?.overheadNs ?? 0)],
      ...serverColumns(splitOf, hasCache(levels)),
      ["Client Recv", () => "0"],
    ];
    return { name, version, text: csv(columns, levels) };
  });
}

function sortedLevels({ levels }: PerfReport): readonly PerfLevel[] {
  return [...levelsWithinLimit(levels)].sort(
    (one, other) => one.inferencesPerSecond - other.inferencesPerSecond,
  );
}

function hasCache(levels: readonly PerfLevel[]): boolean {
  return levels.some(({ server }) => server?.cache !== undefined);
}

function keyOf({ name, version }: ComposingSplit): string {
  return `${name}:${version}`;
}

function csv(columns: readonly Column[], levels: readonly PerfLevel[]): string {
  const rows = [
    columns.map(([name]) => name),
    ...levels.map((level) => columns.map(([, value]) => value(level))),
  ];
  return rows.map((row) => `${row.join(",")}\n`).join("");
}

type Column = readonly [name: string, value: (level: PerfLevel) => string];

interface Shape extends CsvOptions {
  readonly hasCache: boolean;
  readonly isDecoupled: boolean;
  readonly hasMetrics: boolean;
}

function columnsOf(report: PerfReport, shape: Shape): readonly Column[] {
  return [
    levelColumn(report),
    ["Inferences/Second", (level) => numberText(level.inferencesPerSecond)],
    ...(shape.isDecoupled
      ? [["Response Throughput", (level) => numberText(level.responsesPerSecond)] satisfies Column]
      : []),
    ["Client Send", ({ phases }) => usec(phases?.sendNs ?? 0)],
    ["Network+Server Send/Recv", (level) => usec(networkNs(level))],
    ...serverColumns(({ server }) => server, shape.hasCache),
    ["Client Recv", ({ phases }) => usec(phases?.receiveNs ?? 0)],
    ...percentilesTold(report.percentile).map((percent): Column => [
      `p${percent} latency`,
      (level) => usec(percentileNs(level, percent)),
    ]),
    ...(shape.verbose ? verboseColumns(report, shape) : []),
  ];
}

function verboseColumns({ percentile }: PerfReport, { hasMetrics }: Shape): readonly Column[] {
  const clientNs = ({ phases }: PerfLevel): number => (phases?.sendNs ?? 0) + (phases?.receiveNs ?? 0);
  return [
    ...(percentile === undefined
      ? [["Avg latency", ({ latency }) => usec(latency.meanNs)] satisfies Column]
      : []),
    ["request/response", (level) => usec(clientNs(level))],
    [
      "response wait",
      (level) => usec(level.phases === undefined ? 0 : level.latency.meanNs - clientNs(level)),
    ],
    ...(hasMetrics ? metricsColumns() : []),
  ];
}

/** A value for each GPU. */
function metricsColumns(): readonly Column[] {
  const column = (name: string, of: (metrics: ServerMetrics) => Readonly<Record<string, number>>): Column => [
    name,
    ({ metrics }) =>
      metrics === undefined
        ? ""
        : Object.entries(of(metrics))
            .map(([uuid, value]) => `${uuid}:${numberText(value)};`)
            .join(""),
  ];
  return [
    column("Avg GPU Utilization", ({ gpuUtilization }) => gpuUtilization),
    column("Avg GPU Power Usage", ({ gpuPowerUsage }) => gpuPowerUsage),
    column("Max GPU Memory Usage", ({ gpuMemoryUsed }) => gpuMemoryUsed),
    column("Total GPU Memory", ({ gpuMemoryTotal }) => gpuMemoryTotal),
  ];
}

function levelColumn({ load }: PerfReport): Column {
  return [load === "concurrency" ? "Concurrency" : "Request Rate", ({ value }) => numberText(value)];
}

function serverColumns(
  splitOf: (level: PerfLevel) => ServerSplit | undefined,
  withCache: boolean,
): readonly Column[] {
  const column = (name: string, ns: (split: ServerSplit) => number): Column => [
    name,
    (level) => {
      const split = splitOf(level);
      return usec(split === undefined ? 0 : ns(split));
    },
  ];
  return [
    column("Server Queue", ({ queueNs }) => queueNs),
    column("Server Compute Input", ({ computeInputNs }) => computeInputNs),
    column("Server Compute Infer", ({ computeInferNs }) => computeInferNs),
    column("Server Compute Output", ({ computeOutputNs }) => computeOutputNs),
    ...(withCache
      ? [
          column("Server Cache Hit", ({ cache }) => cache?.hitNs ?? 0),
          column("Server Cache Miss", ({ cache }) => cache?.missNs ?? 0),
        ]
      : []),
  ];
}

function perSecond({ durationNs }: PerfLevel, split: ComposingSplit | undefined): number {
  return durationNs === 0 ? 0 : (split?.inferences ?? 0) / (durationNs / 1e9);
}

/** What of the mean latency is neither the server's queue and compute nor the client's own. */
function networkNs({ latency, phases, server }: PerfLevel): number {
  const parts = server === undefined ? 0 : server.requestNs - server.overheadNs;
  return Math.max(latency.meanNs - parts - (phases?.sendNs ?? 0) - (phases?.receiveNs ?? 0), 0);
}
