import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { GpuEnergy } from "./gpu-energy.ts";
import { nextEnergy } from "./gpu-energy.ts";
import type { GpuReading } from "./gpu-reading.ts";
import { createMachineReader } from "./machine-reader.ts";

function joulesOf(
  readings: readonly (readonly [atMs: number, reading: Omit<GpuReading, "uuid">])[],
): number | undefined {
  let energy: GpuEnergy | undefined;
  for (const [atMs, reading] of readings) energy = nextEnergy(energy, { uuid: "GPU-1", ...reading }, atMs);
  return energy?.joules;
}

describe("the energy of a GPU", () => {
  it("is nothing at first, and then what its counter has gained", () => {
    expect(joulesOf([[0, { energyCounterJoules: 5000 }]])).toBe(0);
    expect(
      joulesOf([
        [0, { energyCounterJoules: 5000, powerUsageWatts: 1 }],
        [2000, { energyCounterJoules: 5100, powerUsageWatts: 1 }],
        [4000, { energyCounterJoules: 5150, powerUsageWatts: 1 }],
      ]),
    ).toBe(150);
  });

  it("loses nothing that was counted before when a counter begins anew", () => {
    expect(
      joulesOf([
        [0, { energyCounterJoules: 5000 }],
        [2000, { energyCounterJoules: 5100 }],
        [4000, { energyCounterJoules: 3 }],
        [6000, { energyCounterJoules: 13 }],
      ]),
    ).toBe(110);
  });

  it("is the area under the power where there is no counter", () => {
    expect(
      joulesOf([
        [0, { powerUsageWatts: 100 }],
        [2000, { powerUsageWatts: 200 }],
        [3000, { powerUsageWatts: 200 }],
      ]),
    ).toBe(300 + 200);
  });

  it("does not count a time of which nothing is known", () => {
    expect(
      joulesOf([
        [0, { powerUsageWatts: 100 }],
        [1000, { powerUsageWatts: 100 }],
        [600_000, { powerUsageWatts: 100 }],
        [601_000, { powerUsageWatts: 100 }],
      ]),
    ).toBe(200);
  });

  it("is unknown where the device tells neither", () => {
    expect(joulesOf([[0, { utilization: 1 }]])).toBeUndefined();
  });

  it("never falls", () => {
    const reading = fc.record(
      { energyCounterJoules: fc.nat(1000), powerUsageWatts: fc.nat(700) },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(100_000), reading), { maxLength: 20 }), (steps) => {
        let energy: GpuEnergy | undefined;
        let atMs = 0;
        for (const [passedMs, values] of steps) {
          const before = energy?.joules ?? 0;
          atMs += passedMs;
          energy = nextEnergy(energy, { uuid: "GPU-1", ...values }, atMs);
          expect(energy?.joules ?? 0).toBeGreaterThanOrEqual(before);
        }
      }),
      { seed: 8, numRuns: 200 },
    );
  });
});

describe("a reading of the machine", () => {
  const MEMORY = { totalBytes: 100, usedBytes: 60 };

  it("tells how busy the cores were since the one before", async () => {
    const times = [
      { busy: 100, idle: 900 },
      { busy: 150, idle: 950 },
    ];
    const reader = createMachineReader({
      nowMs: () => 0,
      cpu: () => Promise.resolve({ times: times.shift(), memory: MEMORY }),
    });
    const memory = { memoryTotalBytes: 100, memoryUsedBytes: 60 };
    expect(await reader.read()).toEqual({ cpu: memory });
    expect(await reader.read()).toEqual({ cpu: { utilization: 0.5, ...memory } });
    // What cannot be read any more is not told any more.
    expect(await reader.read()).toEqual({ cpu: memory });
  });

  it("adds up the energy of each GPU, also of one that was silent for a while", async () => {
    const readings: GpuReading[][] = [
      [
        { uuid: "a", energyCounterJoules: 10 },
        { uuid: "b", utilization: 0.5 },
      ],
      [],
      [{ uuid: "a", energyCounterJoules: 40 }],
    ];
    let nowMs = 0;
    const reader = createMachineReader({
      nowMs: () => (nowMs += 2000),
      gpus: () => Promise.resolve(readings.shift() ?? []),
    });
    expect(await reader.read()).toEqual({
      gpus: [
        { uuid: "a", energyJoules: 0 },
        { uuid: "b", utilization: 0.5 },
      ],
    });
    expect(await reader.read()).toEqual({ gpus: [] });
    expect(await reader.read()).toEqual({ gpus: [{ uuid: "a", energyJoules: 30 }] });
  });
});
