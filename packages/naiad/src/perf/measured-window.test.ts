import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeWindows, openWindow } from "./measured-window.ts";

function windowOf(latenciesNs: readonly number[], durationNs = 1e9) {
  let nowNs = 0;
  const window = openWindow({ nowNs: () => nowNs }, { keepMoments: true });
  for (const endNs of latenciesNs)
    window.record({ startNs: 0, endNs, responsesNs: [endNs], delayNs: 0, responses: 1 });
  nowNs = durationNs;
  return window.close();
}

const ONE = { startNs: 0, endNs: 5, responsesNs: [5] } as const;

describe("a measured window", () => {
  it("knows mean, deviation and percentiles as exactly as three digits go", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 20e9 }), { minLength: 1, maxLength: 300 }),
        (latencies) => {
          const { latency, requests } = windowOf(latencies);
          const mean = latencies.reduce((sum, value) => sum + value, 0) / latencies.length;
          const variance = latencies.reduce((sum, value) => sum + (value - mean) ** 2, 0) / latencies.length;
          expect(requests).toBe(latencies.length);
          expect(latency.meanNs).toBeCloseTo(mean, 0);
          // The squares are summed up as they come, which costs the last digits of a small difference.
          expect(Math.abs(latency.stdDevNs - Math.sqrt(variance))).toBeLessThan(1e-5 * mean + 2);
          const sorted = [...latencies].sort((one, other) => one - other);
          for (const percent of [50, 90, 99, 100]) {
            const exact = sorted[Math.max(Math.ceil((percent / 100) * sorted.length) - 1, 0)] ?? 0;
            expect(Math.abs(latency.atPercentile(percent) - exact)).toBeLessThanOrEqual(exact / 1000 + 1);
          }
        },
      ),
      { seed: 2026, numRuns: 60 },
    );
  });

  it("keeps to its error in every percentile, with latencies of all magnitudes in one window", () => {
    // As many nanoseconds as tens of digits: from a nanosecond to a minute and a half.
    const latency = fc
      .integer({ min: 0, max: 36 })
      .chain((bits) => fc.integer({ min: 2 ** bits - 1, max: 2 ** (bits + 1) }));
    fc.assert(
      fc.property(
        fc.array(latency, { minLength: 1, maxLength: 400 }),
        fc.integer({ min: 1, max: 100 }),
        (latencies, percent) => {
          const window = mergeWindows([windowOf(latencies.slice(0, 100)), windowOf(latencies.slice(100))]);
          const sorted = [...latencies].sort((one, other) => one - other);
          const exact = sorted[Math.max(Math.ceil((percent / 100) * sorted.length) - 1, 0)] ?? 0;
          const error = Math.abs(window.latency.atPercentile(percent) - exact);
          expect(error).toBeLessThanOrEqual(exact / 1000 + 1);
        },
      ),
      { seed: 2026, numRuns: 200 },
    );
  });

  it("merges with others as if they were one", () => {
    const merged = mergeWindows([windowOf([1e6, 2e6]), windowOf([3e6], 2e9), windowOf([])]);
    const whole = windowOf([1e6, 2e6, 3e6], 4e9);
    expect(merged.requests).toBe(3);
    expect(merged.durationNs).toBe(4e9);
    expect(merged.latency.meanNs).toBe(whole.latency.meanNs);
    expect(merged.latency.stdDevNs).toBe(whole.latency.stdDevNs);
    expect(merged.latency.atPercentile(50)).toBe(whole.latency.atPercentile(50));
    expect(merged.moments).toEqual(whole.moments);
  });

  it("is calm without requests, and takes what lasts longer than expected", () => {
    const { latency, phases } = windowOf([]);
    expect([latency.meanNs, latency.stdDevNs, latency.atPercentile(99), phases]).toEqual([
      0,
      0,
      0,
      undefined,
    ]);
    expect(windowOf([3600e9]).latency.atPercentile(50) / 3600e9).toBeCloseTo(1, 2);
  });

  it("has the means of the phases of those that tell them, and counts who was late", () => {
    const window = openWindow({ nowNs: () => 0 }, { keepMoments: false });
    window.record({ ...ONE, delayNs: 2e6, responses: 2, sendNs: 10, receiveNs: 20 });
    window.record({ ...ONE, delayNs: 1e3, responses: 1, sendNs: 30, receiveNs: 0 });
    expect(window.close()).toMatchObject({
      phases: { sendNs: 20, receiveNs: 10 },
      delayed: 1,
      responses: 3,
      moments: [],
    });
  });
});
