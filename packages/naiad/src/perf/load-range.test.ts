import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MeasuredLevel, Search } from "./load-range.ts";
import { nextLevel, parseRange } from "./load-range.ts";

/** The levels that are measured where latency is fine up to `limit`. */
function levels(text: string, search: Search, limit = Infinity): readonly number[] {
  const range = parseRange(text, "--concurrency-range");
  const measured: MeasuredLevel[] = [];
  for (;;) {
    const value = nextLevel(range, search, measured);
    if (value === undefined) return measured.map((level) => level.value);
    measured.push({ value, isWithinLimit: value <= limit });
    if (measured.length > 100) throw new Error("does not end");
  }
}

describe("parseRange", () => {
  it("reads start, end and step", () => {
    expect(parseRange("4", "x")).toEqual({ start: 4, end: 4, step: 1 });
    expect(parseRange("1:8", "x")).toEqual({ start: 1, end: 8, step: 1 });
    expect(parseRange("10:100:0.5", "x")).toEqual({ start: 10, end: 100, step: 0.5 });
    expect(parseRange("2:0", "x")).toEqual({ start: 2, end: 0, step: 1 });
  });

  it.each(["", "a", "1:2:3:4", "0", "-1", "4:2", "1:2:0", "1::2", "1e3"])("refuses %j", (text) => {
    expect(() => parseRange(text, "--concurrency-range")).toThrow("--concurrency-range");
  });
});

describe("nextLevel", () => {
  it("goes from start to end", () => {
    expect(levels("3", "linear")).toEqual([3]);
    expect(levels("1:8:3", "linear")).toEqual([1, 4, 7]);
    expect(levels("0.1:0.5:0.1", "linear")).toHaveLength(5);
  });

  it("stops where the latency is over its limit, which is the only end where there is none", () => {
    expect(levels("1:8", "linear", 3)).toEqual([1, 2, 3, 4]);
    expect(levels("1:0:2", "linear", 4)).toEqual([1, 3, 5]);
  });

  it("halves its way to the highest level within the limit", () => {
    expect(levels("1:16", "binary", 100)).toEqual([1, 16]);
    expect(levels("4:16", "binary", 3)).toEqual([4]);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 999 }), (limit) => {
        const measured = levels("1:1000", "binary", limit);
        expect(Math.max(...measured.filter((value) => value <= limit))).toBe(limit);
        expect(measured.length).toBeLessThan(14);
      }),
      { seed: 2026 },
    );
  });
});
