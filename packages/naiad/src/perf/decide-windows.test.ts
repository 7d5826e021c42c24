import { describe, expect, it } from "vitest";
import { decideWindows } from "./decide-windows.ts";

const RULE = { stabilityPercent: 10, maxTrials: 5, latencyLimitNs: 0 };

function windows(...figures: readonly (readonly [throughput: number, latency: number])[]) {
  return figures.map(([inferencesPerSecond, latencyNs]) => ({ inferencesPerSecond, latencyNs }));
}

describe("decideWindows", () => {
  it("wants three windows that agree in throughput and latency", () => {
    expect(decideWindows(windows([100, 10], [100, 10]), RULE)).toEqual({ kind: "more" });
    expect(decideWindows(windows([100, 10], [110, 11], [105, 10.5]), RULE)).toEqual({
      kind: "stable",
      windows: 3,
    });
    expect(decideWindows(windows([100, 10], [111, 10], [105, 10]), RULE)).toEqual({ kind: "more" });
    expect(decideWindows(windows([100, 10], [100, 11.1], [100, 10]), RULE)).toEqual({ kind: "more" });
  });

  it("looks at the last three alone", () => {
    expect(decideWindows(windows([1, 99], [100, 10], [100, 10], [100, 10]), RULE)).toEqual({
      kind: "stable",
      windows: 3,
    });
  });

  it("is not content with windows in which nothing happened", () => {
    expect(decideWindows(windows([0, 0], [0, 0], [0, 0]), RULE)).toEqual({ kind: "more" });
  });

  it("gives up after as many trials as there may be, with what there is", () => {
    const restless = windows([1, 1], [2, 1], [3, 1], [4, 1], [5, 1]);
    expect(decideWindows(restless.slice(0, 4), RULE)).toEqual({ kind: "more" });
    expect(decideWindows(restless, RULE)).toEqual({ kind: "unstable", windows: 3 });
    expect(decideWindows(windows([1, 1]), { ...RULE, maxTrials: 1 })).toEqual({
      kind: "unstable",
      windows: 1,
    });
  });

  it("ends where a latency is over the limit", () => {
    const rule = { ...RULE, latencyLimitNs: 10 };
    expect(decideWindows(windows([1, 50], [1, 50]), rule)).toEqual({ kind: "more" });
    expect(decideWindows(windows([1, 10], [1, 10], [1, 11]), rule)).toEqual({
      kind: "over-limit",
      windows: 3,
    });
    expect(decideWindows(windows([1, 10], [1, 10], [1, 10]), rule)).toEqual({ kind: "stable", windows: 3 });
  });
});
