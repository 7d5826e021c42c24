import type { PerfLevel, PerfReport } from "./perf-report.ts";
import { numberText } from "./report-text.ts";
import type { ServerSplit } from "./server-split.ts";

export interface CsvOptions {
  /** Three more columns: the mean, and the halves of the time over the network. */
  readonly verbose: boolean;
}

/** perf_analyzer's CSV: a row for each level, by rising throughput, in microseconds; then a block for each composing model. */
export function reportCsv(report: PerfReport, { verbose }: CsvOptions): string {
  const levels = [...report.levels].sort((one, other) => one.inferencesPerSecond - other.inferencesPerSecond);
  const hasCache = levels.some(({ server }) => server?.cache !== undefined);
  const isDecoupled = levels.some(({ requests, responses }) => responses > requests);
  const columns = columnsOf(report, { hasCache, isDecoupled, verbose });
  const table = [
    columns.map(([name]) => name),
    ...levels.map((level) => columns.map(([, value]) => value(level))),
  ];
  const composing = [...new Set(levels.flatMap((level) => Object.keys(level.composing)))];
  const blocks = composing.map((name) => composingBlock(name, report, levels, hasCache));
  return [table, ...blocks].map((rows) => `${rows.map((row) => row.join(",")).join("\n")}\n`).join("\n");
}

type Column = readonly [name: string, value: (level: PerfLevel) => string];

interface Shape extends CsvOptions {
  readonly hasCache: boolean;
  readonly isDecoupled: boolean;
}

function columnsOf(report: PerfReport, { hasCache, isDecoupled, verbose }: Shape): readonly Column[] {
  const isWithMean = report.percentile === undefined;
  return [
    levelColumn(report),
    ["Inferences/Second", (level) => numberText(level.inferencesPerSecond)],
    ...(isDecoupled
      ? [["Response Throughput", (level) => numberText(level.responsesPerSecond)] satisfies Column]
      : []),
    ["Client Send", ({ phases }) => usec(phases?.sendNs ?? 0)],
    ["Network+Server Send/Recv", (level) => usec(networkNs(level))],
    ...serverColumns(({ server }) => server, hasCache),
    ["Client Recv", ({ phases }) => usec(phases?.receiveNs ?? 0)],
    ["p50 latency", ({ latency }) => usec(latency.p50Ns)],
    ["p90 latency", ({ latency }) => usec(latency.p90Ns)],
    ["p95 latency", ({ latency }) => usec(latency.p95Ns)],
    ["p99 latency", ({ latency }) => usec(latency.p99Ns)],
    ...(verbose
      ? ([
          ...(isWithMean ? [["Avg latency", ({ latency }) => usec(latency.meanNs)] satisfies Column] : []),
          ["request/response", ({ phases }) => usec((phases?.sendNs ?? 0) + (phases?.receiveNs ?? 0))],
          [
            "response wait",
            ({ latency, phases }) => usec(latency.meanNs - (phases?.sendNs ?? 0) - (phases?.receiveNs ?? 0)),
          ],
        ] satisfies readonly Column[])
      : []),
  ];
}

function levelColumn({ load }: PerfReport): Column {
  return [load === "concurrency" ? "Concurrency" : "Request Rate", ({ value }) => numberText(value)];
}

function serverColumns(
  splitOf: (level: PerfLevel) => ServerSplit | undefined,
  hasCache: boolean,
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
    ...(hasCache
      ? [
          column("Server Cache Hit", ({ cache }) => cache?.hitNs ?? 0),
          column("Server Cache Miss", ({ cache }) => cache?.missNs ?? 0),
        ]
      : []),
  ];
}

function composingBlock(
  name: string,
  report: PerfReport,
  levels: readonly PerfLevel[],
  hasCache: boolean,
): readonly (readonly string[])[] {
  const columns: readonly Column[] = [
    levelColumn(report),
    ["Inferences/Second", (level) => numberText(perSecond(level, name))],
    ["Client Send", () => "0"],
    ["Network+Server Send/Recv", (level) => usec(level.composing[name]?.overheadNs ?? 0)],
    ...serverColumns((level) => level.composing[name], hasCache),
    ["Client Recv", () => "0"],
  ];
  return [
    [`Composing model: ${name}`],
    columns.map(([header]) => header),
    ...levels.map((level) => columns.map(([, value]) => value(level))),
  ];
}

function perSecond({ composing, durationNs }: PerfLevel, name: string): number {
  return durationNs === 0 ? 0 : (composing[name]?.inferences ?? 0) / (durationNs / 1e9);
}

/** What of the mean latency is neither the server's queue and compute nor the client's own. */
function networkNs({ latency, phases, server }: PerfLevel): number {
  const parts = server === undefined ? 0 : server.requestNs - server.overheadNs;
  return Math.max(latency.meanNs - parts - (phases?.sendNs ?? 0) - (phases?.receiveNs ?? 0), 0);
}

function usec(ns: number): string {
  return String(Math.round(Math.max(ns, 0) / 1e3));
}
