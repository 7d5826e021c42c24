import type { GpuReading } from "./gpu-reading.ts";
import { knownOf } from "./gpu-reading.ts";

const FIELDS = ["uuid", "utilization.gpu", "memory.total", "memory.used", "power.draw", "power.limit"];

/** Asks for one line per GPU, which `parseNvidiaSmi` reads. */
export const NVIDIA_SMI_ARGUMENTS: readonly string[] = [
  `--query-gpu=${FIELDS.join(",")}`,
  "--format=csv,noheader,nounits",
];

const MIB = 1024 ** 2;

/**
 * Percent, MiB and watts. Instead of a number stands `[N/A]`, `[Not Supported]`, `[Unknown Error]` or the like, where the device,
 * a mode of it (MIG has no utilization) or the rights of the user give none. Lines that are not about a GPU are passed over.
 */
export function parseNvidiaSmi(output: string): readonly GpuReading[] {
  return output.split(/\r?\n/).flatMap((line) => {
    const [uuid = "", utilization, total, used, power, limit] = line.split(",").map((text) => text.trim());
    if (!/^GPU-\S+$/.test(uuid)) return [];
    return knownOf<GpuReading>({
      uuid,
      utilization: scaled(utilization, 0.01),
      memoryTotalBytes: scaled(total, MIB),
      memoryUsedBytes: scaled(used, MIB),
      powerUsageWatts: scaled(power, 1),
      powerLimitWatts: scaled(limit, 1),
    });
  });
}

function scaled(text: string | undefined, unit: number): number | undefined {
  return text !== undefined && /^\d+(\.\d+)?$/.test(text) ? Number(text) * unit : undefined;
}
