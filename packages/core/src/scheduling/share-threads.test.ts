import { describe, expect, it } from "vitest";
import { shareThreads } from "./share-threads.ts";

describe("shareThreads", () => {
  it.each([
    { cores: 8, wanted: 0, instances: 1, busy: 0, expected: 4 },
    { cores: 8, wanted: 0, instances: 2, busy: 0, expected: 3 },
    { cores: 8, wanted: 0, instances: 16, busy: 0, expected: 1 },
    { cores: 4, wanted: 0, instances: 1, busy: 0, expected: 3 },
    { cores: 2, wanted: 0, instances: 1, busy: 0, expected: 1 },
    { cores: 1, wanted: 0, instances: 1, busy: 0, expected: 1 },
    { cores: 8, wanted: 0, instances: 1, busy: 4, expected: 4 },
    { cores: 8, wanted: 0, instances: 2, busy: 100, expected: 2 },
    { cores: 4, wanted: 0, instances: 1, busy: 2, expected: 2 },
    { cores: 8, wanted: 6, instances: 2, busy: 8, expected: 6 },
  ])(
    "$cores cores, option $wanted, $instances instances, $busy busy -> $expected",
    ({ cores, wanted, instances, busy, expected }) => {
      const capabilities = { crossOriginIsolated: true, hardwareConcurrency: cores };
      expect(shareThreads({ capabilities, wanted, instances, busyThreads: busy })).toEqual({
        perInstance: expected,
      });
    },
  );

  it("has one thread without isolation, and says so to those who wanted more", () => {
    const capabilities = { crossOriginIsolated: false, hardwareConcurrency: 8 };
    expect(shareThreads({ capabilities, wanted: 0, instances: 1, busyThreads: 0 })).toEqual({
      perInstance: 1,
    });
    expect(shareThreads({ capabilities, wanted: 4, instances: 1, busyThreads: 0 })).toEqual({
      perInstance: 1,
      warning: "the page is not cross-origin isolated: 1 thread instead of 4",
    });
  });
});
