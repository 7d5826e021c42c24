import type { MetricFamily } from "./metric-family.ts";
import type { GpuMetrics, MachineMetrics } from "./metric-sources.ts";
import { gauge, known } from "./single-gauge.ts";

/** Triton's, names and help texts to the letter, then ours. */
export function machineFamilies(machine: MachineMetrics = {}): readonly MetricFamily[] {
  const { cpu = {}, gpus = [], hostRestarts } = machine;
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
    {
      kind: "counter",
      name: "naiad_host_restarts_total",
      help: "Number of times that what the server runs in was started anew",
      metrics: known(hostRestarts, {}),
    },
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
