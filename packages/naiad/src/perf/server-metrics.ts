import type { Clock } from "@naiad/core";
import { wait } from "./wait.ts";

/** What a server's metrics say of its machine, over the time of a measurement. Of GPUs by their `gpu_uuid`. */
export interface ServerMetrics {
  /** From 0 to 1, the mean. */
  readonly gpuUtilization: Readonly<Record<string, number>>;
  /** Watts, the mean. */
  readonly gpuPowerUsage: Readonly<Record<string, number>>;
  /** Bytes, the most. */
  readonly gpuMemoryUsed: Readonly<Record<string, number>>;
  /** Bytes. */
  readonly gpuMemoryTotal: Readonly<Record<string, number>>;
  /** From 0 to 1, the mean. Absent where the server does not tell it, as the next. */
  readonly cpuUtilization?: number;
  /** Bytes, the most. */
  readonly cpuMemoryUsed?: number;
}

/** Where metrics are read during a measurement. */
export interface MetricsSource {
  /** Text in Prometheus' format. */
  readonly read: (signal: AbortSignal) => Promise<string>;
  readonly intervalNs: number;
}

/** One look at the metrics: values by their series' `gpu_uuid`, or `""`. */
export type MetricsSample = Readonly<Record<MetricName, ReadonlyMap<string, number>>>;

const METRICS = [
  "nv_gpu_utilization",
  "nv_gpu_power_usage",
  "nv_gpu_memory_used_bytes",
  "nv_gpu_memory_total_bytes",
  "nv_cpu_utilization",
  "nv_cpu_memory_used_bytes",
] as const;

type MetricName = (typeof METRICS)[number];

/** Series that are of no interest here, and lines that are none, are passed over. */
export function readMetricsSample(text: string): MetricsSample {
  const found = new Map<string, Map<string, number>>(METRICS.map((name) => [name, new Map()]));
  for (const line of text.split("\n")) {
    const [, name = "", labels = "", value] = /^(\w+)(?:\{([^}]*)\})?\s+(\S+)/.exec(line) ?? [];
    const number = Number(value);
    const [, uuid = ""] = /gpu_uuid="([^"]*)"/.exec(labels) ?? [];
    if (!Number.isNaN(number)) found.get(name)?.set(uuid, number);
  }
  // The map was made of just these names.
  return Object.fromEntries(found) as unknown as MetricsSample;
}

/** As perf_analyzer does: means of utilization and power, the highest memory, the first total. */
export function summarizeMetrics(samples: readonly MetricsSample[]): ServerMetrics {
  const of = (name: MetricName, combine: Combine): Record<string, number> => {
    const series = new Set(samples.flatMap((sample) => [...sample[name].keys()]));
    return Object.fromEntries(
      [...series].map((key) => [key, combine(samples.flatMap((sample) => sample[name].get(key) ?? []))]),
    );
  };
  const cpuUtilization = of("nv_cpu_utilization", mean)[""];
  const cpuMemoryUsed = of("nv_cpu_memory_used_bytes", highest)[""];
  return {
    gpuUtilization: of("nv_gpu_utilization", mean),
    gpuPowerUsage: of("nv_gpu_power_usage", mean),
    gpuMemoryUsed: of("nv_gpu_memory_used_bytes", highest),
    gpuMemoryTotal: of("nv_gpu_memory_total_bytes", ([first = 0]) => first),
    ...(cpuUtilization !== undefined && { cpuUtilization }),
    ...(cpuMemoryUsed !== undefined && { cpuMemoryUsed }),
  };
}

type Combine = (values: readonly number[]) => number;

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function highest(values: readonly number[]): number {
  return Math.max(...values);
}

export interface MetricsWatch {
  /** Gives what was seen from the beginning on. Rejects where the metrics could not be read. */
  stop(): Promise<readonly MetricsSample[]>;
}

/** Reads metrics at once and then again and again. */
export function watchMetrics(
  { intervalNs, read }: MetricsSource,
  clock: Pick<Clock, "after">,
  signal: AbortSignal,
): MetricsWatch {
  const stopping = new AbortController();
  const ending = AbortSignal.any([signal, stopping.signal]);
  const samples: MetricsSample[] = [];
  const watching = (async () => {
    while (!ending.aborted) {
      samples.push(readMetricsSample(await read(signal)));
      // Only the end of the watch breaks the wait.
      await wait(clock, intervalNs, ending).catch(() => undefined);
    }
  })();
  watching.catch(() => undefined);
  return {
    stop: async () => {
      stopping.abort();
      await watching;
      return samples;
    },
  };
}
