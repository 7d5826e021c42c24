import type { GpuReading } from "./gpu-reading.ts";

/** What a GPU has taken since it was first read, with what the next reading is held against. */
export interface GpuEnergy {
  readonly joules: number;
  readonly last: Pick<GpuReading, "energyCounterJoules" | "powerUsageWatts">;
  readonly atMs: number;
}

/** Over a longer gap nobody knows what the power was. */
const LONGEST_GAP_MS = 60_000;

/**
 * Of devices that count their energy the difference, which is not negative where they began anew; of others the power, taken to
 * change evenly from reading to reading. `undefined` where the device tells neither.
 */
export function nextEnergy(
  before: GpuEnergy | undefined,
  reading: GpuReading,
  atMs: number,
): GpuEnergy | undefined {
  const { energyCounterJoules: counter, powerUsageWatts: watts } = reading;
  if (counter === undefined && watts === undefined) return before;
  const next = { last: reading, atMs };
  if (before === undefined) return { joules: 0, ...next };
  return { joules: before.joules + taken(before, reading, atMs), ...next };
}

function taken({ last, atMs: lastMs }: GpuEnergy, reading: GpuReading, atMs: number): number {
  const { energyCounterJoules: counter, powerUsageWatts: watts } = reading;
  if (counter !== undefined && last.energyCounterJoules !== undefined) {
    return Math.max(0, counter - last.energyCounterJoules);
  }
  const passedMs = atMs - lastMs;
  if (watts === undefined || last.powerUsageWatts === undefined || passedMs > LONGEST_GAP_MS) return 0;
  return (((watts + last.powerUsageWatts) / 2) * passedMs) / 1000;
}
