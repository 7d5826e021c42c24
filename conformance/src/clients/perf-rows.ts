/** A row of what perf_analyzer exports with `--verbose-csv`. */
export interface PerfRow {
  readonly concurrency: number;
  /** Inferences a second. */
  readonly throughput: number;
  readonly averageUs: number;
  /** 50, 90, 95, 99 percent of requests took no longer. */
  readonly percentilesUs: readonly number[];
  /** Parts of the server's time for a request: queue, compute input, infer, output. */
  readonly serverUs: readonly number[];
}

/** Throws where a column is missing. */
export function perfRows(csv: string): readonly PerfRow[] {
  const [head = "", ...lines] = csv.trim().split("\n");
  const names = head.split(",");
  const rows = lines.slice(0, lines.includes("") ? lines.indexOf("") : undefined);
  return rows.map((line) => {
    const cells = line.split(",");
    const cell = (name: string): number => {
      const value = Number(cells[names.indexOf(name)] ?? "none");
      if (Number.isNaN(value)) throw new Error(`no number for '${name}' in\n${csv}`);
      return value;
    };
    return {
      concurrency: cell("Concurrency"),
      throughput: cell("Inferences/Second"),
      averageUs: cell("Avg latency"),
      percentilesUs: ["p50", "p90", "p95", "p99"].map((name) => cell(`${name} latency`)),
      serverUs: ["Queue", "Compute Input", "Compute Infer", "Compute Output"].map((name) =>
        cell(`Server ${name}`),
      ),
    };
  });
}

/**
 * What cannot be in a row, however fast or slow the machine is; `undefined` for a sane one. Little's law: as many requests are under
 * way as the concurrency says, or a few less where the client itself needs time.
 */
export function rowProblem(row: PerfRow): string | undefined {
  const { averageUs, concurrency, percentilesUs, serverUs, throughput } = row;
  if (throughput <= 0 || averageUs <= 0) return "nothing was measured";
  const underWay = (throughput * averageUs) / 1e6;
  if (underWay < 0.4 * concurrency || underWay > 1.3 * concurrency) {
    return `${String(throughput)} infer/s at ${String(averageUs)} us are ${underWay.toFixed(2)} at a time`;
  }
  if (percentilesUs.some((value, index) => value < (percentilesUs[index - 1] ?? 0))) {
    return `percentiles do not ascend: ${percentilesUs.join(", ")}`;
  }
  const server = serverUs.reduce((sum, value) => sum + value, 0);
  if (server <= 0) return "the server tells of no time";
  if (server > 1.1 * averageUs)
    return `the server's ${String(server)} us are more than the client's ${String(averageUs)}`;
  return undefined;
}
