import type { GpuMetrics, MachineMetrics } from "@naiad/core";
import type { CpuTimes, MemoryUse } from "./cpu-metrics.ts";
import { cpuUtilization } from "./cpu-metrics.ts";
import type { GpuEnergy } from "./gpu-energy.ts";
import { nextEnergy } from "./gpu-energy.ts";
import type { GpuReading } from "./gpu-reading.ts";
import { knownOf } from "./gpu-reading.ts";

/** Where the values come from. None of these rejects, and each ends in time. */
export interface MachineSources {
  /** Absent where nobody wants to know. */
  readonly cpu?: () => Promise<{
    readonly times: CpuTimes | undefined;
    readonly memory: MemoryUse | undefined;
  }>;
  readonly gpus?: () => Promise<readonly GpuReading[]>;
  readonly nowMs: () => number;
}

/** Reads the machine again and again: utilization and energy are of the time since the last reading, or since the first. */
export interface MachineReader {
  read(): Promise<MachineMetrics>;
}

export function createMachineReader({ cpu, gpus, nowMs }: MachineSources): MachineReader {
  let lastTimes: CpuTimes | undefined;
  const energies = new Map<string, GpuEnergy>();

  async function readCpu(): Promise<MachineMetrics["cpu"]> {
    if (cpu === undefined) return undefined;
    const { memory, times } = await cpu();
    const utilization = times && lastTimes && cpuUtilization(lastTimes, times);
    lastTimes = times ?? lastTimes;
    return knownOf<NonNullable<MachineMetrics["cpu"]>>({
      utilization,
      memoryTotalBytes: memory?.totalBytes,
      memoryUsedBytes: memory?.usedBytes,
    });
  }

  async function readGpus(): Promise<readonly GpuMetrics[] | undefined> {
    const readings = await gpus?.();
    const atMs = nowMs();
    return readings?.map(({ energyCounterJoules, ...reading }) => {
      const measured = { ...reading, ...(energyCounterJoules !== undefined && { energyCounterJoules }) };
      const energy = nextEnergy(energies.get(reading.uuid), measured, atMs);
      if (energy === undefined) return reading;
      energies.set(reading.uuid, energy);
      return { ...reading, energyJoules: energy.joules };
    });
  }

  return {
    async read() {
      const [cpuMetrics, gpuMetrics] = await Promise.all([readCpu(), readGpus()]);
      return knownOf<MachineMetrics>({ cpu: cpuMetrics, gpus: gpuMetrics });
    },
  };
}
