import { describe, expect, it } from "vitest";
import { afterFailure, NO_FAILURES } from "./restart-policy.ts";

describe("afterFailure", () => {
  it("waits twice as long each time, up to half a minute", () => {
    const delays: number[] = [];
    let count = NO_FAILURES;
    for (let index = 0; index < 9; index += 1) {
      const next = afterFailure(count, 1000);
      delays.push(next.delayMs);
      count = next;
    }
    expect(delays).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  });

  it("begins again after a browser that served for a minute", () => {
    expect(afterFailure({ failures: 7 }, 60_000)).toEqual({ failures: 1, delayMs: 500 });
    expect(afterFailure({ failures: 7 }, 59_999).delayMs).toBe(30_000);
  });
});
