import { DEFAULT_METRICS_CONFIG } from "@naiad/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { QuantileSketch } from "./quantile-sketch.ts";

const TARGETS = DEFAULT_METRICS_CONFIG.summaryQuantiles;

function sketchOf(values: readonly number[]): QuantileSketch {
  const sketch = new QuantileSketch(TARGETS);
  for (const value of values) sketch.insert(value);
  return sketch;
}

/** By how much the rank of what is told is wrong, as a share of all values. */
function rankError(sketch: QuantileSketch, values: readonly number[], quantile: number): number {
  const told = sketch.quantile(quantile);
  const wanted = quantile * values.length;
  const below = values.filter((value) => value < told).length;
  const upTo = values.filter((value) => value <= told).length;
  // Equal values have all ranks from `below` to `upTo`.
  return Math.max(0, below - wanted, wanted - upTo) / values.length;
}

function expectWithinErrors(values: readonly number[]): void {
  const sketch = sketchOf(values);
  for (const { quantile, error } of TARGETS) {
    // A whole value is the least that a rank can be wrong by.
    expect(rankError(sketch, values, quantile)).toBeLessThanOrEqual(error + 1 / values.length);
  }
}

/** Numbers that look random and are the same each time. */
function scrambled(count: number): readonly number[] {
  let state = 12345;
  return Array.from({ length: count }, () => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return state / 2 ** 31;
  });
}

describe("QuantileSketch", () => {
  it("knows nothing before the first value", () => {
    expect(new QuantileSketch(TARGETS).quantile(0.5)).toBeNaN();
  });

  it("gives the only value for every quantile", () => {
    const sketch = sketchOf([459]);
    expect(TARGETS.map(({ quantile }) => sketch.quantile(quantile))).toEqual([459, 459, 459, 459, 459]);
  });

  it("begins anew when it is reset", () => {
    const sketch = sketchOf([1, 2, 3]);
    sketch.reset();
    expect(sketch.quantile(0.9)).toBeNaN();
    sketch.insert(5);
    expect(sketch.quantile(0.9)).toBe(5);
  });

  it.each([
    ["ascending", Array.from({ length: 20_000 }, (_, index) => index)],
    ["descending", Array.from({ length: 20_000 }, (_, index) => -index)],
    ["scrambled", scrambled(20_000)],
    ["long-tailed", scrambled(20_000).map((value) => Math.floor(1 / (1 - value)))],
    ["all the same", Array.from({ length: 5_000 }, () => 7)],
  ])("keeps to its errors for values that are %s", (_, values) => {
    expectWithinErrors(values);
  });

  it("keeps to its errors for any stream", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 1, maxLength: 3000 }),
        (values) => {
          expectWithinErrors(values);
        },
      ),
      { seed: 4, numRuns: 60 },
    );
  });

  it("answers in between without another result", () => {
    const values = scrambled(5_000);
    const asked = new QuantileSketch(TARGETS);
    for (const [index, value] of values.entries()) {
      asked.insert(value);
      if (index % 37 === 0) asked.quantile(0.5);
    }
    expect(rankError(asked, values, 0.99)).toBeLessThanOrEqual(0.001 + 1 / values.length);
  });

  it("stays small however many values come", () => {
    const values = scrambled(200_000);
    expect(sketchOf(values).size).toBeLessThan(4_000);
  });
});
