import type { ResponseCacheCounters } from "../scheduling/response-cache/response-cache.ts";
import type { GpuMetrics, MachineMetrics, RequestBytes } from "./metric-sources.ts";
import type { MetricFamily, NumberMetric } from "./metric-family.ts";

/** Of the response cache as a whole: gauges, as those of Triton's `local` cache are. */
export function cacheFamilies(counters: ResponseCacheCounters | undefined): readonly MetricFamily[] {
  if (counters === undefined) return [];
  const { usedBytes, byteSize, lookupNs, insertionNs } = counters;
  return [
    gauge("nv_cache_util", "Cache utilization [0.0 - 1.0]", byteSize === 0 ? 0 : usedBytes / byteSize),
    gauge("nv_cache_num_entries", "Number of responses stored in response cache", counters.entries),
    gauge("nv_cache_num_hits", "Number of cache hits in response cache", counters.hits),
    gauge("nv_cache_num_misses", "Number of cache misses in response cache", counters.misses),
    gauge("nv_cache_num_lookups", "Number of cache lookups in response cache", counters.lookups),
    gauge("nv_cache_num_evictions", "Number of cache evictions in response cache", counters.evictions),
    gauge(
      "nv_cache_lookup_duration",
      "Total cache lookup duration (hit and miss), in microseconds",
      Math.floor(lookupNs / 1000),
    ),
    gauge(
      "nv_cache_insertion_duration",
      "Total cache insertion duration, in microseconds",
      Math.floor(insertionNs / 1000),
    ),
  ];
}

export function requestByteFamilies(bytes: RequestBytes | undefined): readonly MetricFamily[] {
  if (bytes === undefined) return [];
  return [
    gauge("naiad_inflight_bytes", "Bytes of requests accepted and not yet answered", bytes.inflightBytes),
    gauge(
      "naiad_max_inflight_bytes",
      "Bytes of requests beyond which new ones are refused",
      bytes.maxInflightBytes,
    ),
  ];
}

export function machineFamilies({ cpu = {}, gpus = [] }: MachineMetrics = {}): readonly MetricFamily[] {
  return [
    ...GPU_FAMILIES.map(({ kind, name, help, read }): MetricFamily => ({
      kind,
      name,
      help,
      metrics: gpus.flatMap((gpu) => known(read(gpu), { gpu_uuid: gpu.uuid })),
    })),
    gauge("nv_cpu_utilization", "CPU utilization rate [0.0 - 1.0]", cpu.utilization),
    gauge("nv_cpu_memory_total_bytes", "CPU total memory (RAM), in bytes", cpu.memoryTotalBytes),
    gauge("nv_cpu_memory_used_bytes", "CPU used memory (RAM), in bytes", cpu.memoryUsedBytes),
  ];
}

interface GpuFamily {
  readonly kind: "counter" | "gauge";
  readonly name: string;
  readonly help: string;
  readonly read: (gpu: GpuMetrics) => number | undefined;
}

const GPU_FAMILIES: readonly GpuFamily[] = [
  {
    kind: "counter",
    name: "nv_energy_consumption",
    help: "GPU energy consumption in joules since the Triton Server started",
    read: ({ energyJoules }) => energyJoules,
  },
  {
    kind: "gauge",
    name: "nv_gpu_utilization",
    help: "GPU utilization rate [0.0 - 1.0)",
    read: ({ utilization }) => utilization,
  },
  {
    kind: "gauge",
    name: "nv_gpu_memory_total_bytes",
    help: "GPU total memory, in bytes",
    read: ({ memoryTotalBytes }) => memoryTotalBytes,
  },
  {
    kind: "gauge",
    name: "nv_gpu_memory_used_bytes",
    help: "GPU used memory, in bytes",
    read: ({ memoryUsedBytes }) => memoryUsedBytes,
  },
  {
    kind: "gauge",
    name: "nv_gpu_power_usage",
    help: "GPU power usage in watts",
    read: ({ powerUsageWatts }) => powerUsageWatts,
  },
  {
    kind: "gauge",
    name: "nv_gpu_power_limit",
    help: "GPU power management limit in watts",
    read: ({ powerLimitWatts }) => powerLimitWatts,
  },
];

function gauge(name: string, help: string, value: number | undefined): MetricFamily {
  return { kind: "gauge", name, help, metrics: known(value, {}) };
}

function known(value: number | undefined, labels: NumberMetric["labels"]): readonly NumberMetric[] {
  return value === undefined ? [] : [{ labels, value }];
}
