import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RequestRate } from "./token-bucket.ts";
import { takeToken } from "./token-bucket.ts";

const SECOND = 1e9;

/** Seconds after which requests at these times would have been in order; 0 where they are accepted. */
function waits(rate: RequestRate, timesSecs: readonly number[]): readonly number[] {
  let fullAtNs = 0;
  return timesSecs.map((atSecs) => {
    const decision = takeToken(fullAtNs, rate, atSecs * SECOND);
    if (decision.kind === "refused") return decision.retryAfterNs / SECOND;
    fullAtNs = decision.fullAtNs;
    return 0;
  });
}

describe("takeToken", () => {
  it("accepts a burst, then as fast as the bucket fills", () => {
    const rate = { kind: "rate", requestsPerSecond: 2, burst: 3 } as const;
    expect(waits(rate, [0, 0, 0, 0, 0.25, 0.5, 0.5, 10, 10, 10, 10])).toEqual([
      0, 0, 0, 0.5, 0.25, 0, 0.5, 0, 0, 0, 0.5,
    ]);
  });

  it("takes a bucket that was emptied under a slower limit as empty and no more", () => {
    const hour = 3600 * SECOND;
    const decision = takeToken(hour, { kind: "rate", requestsPerSecond: 10, burst: 5 }, 0);
    expect(decision).toEqual({ kind: "refused", retryAfterNs: SECOND / 10 });
  });

  it("accepts a request that waited as long as it was told, and never more than the limit in any stretch of time", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5000 }),
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.integer({ min: 0, max: 3 * SECOND }), { maxLength: 80 }),
        (milliRate, burst, gaps) => {
          const rate = { kind: "rate", requestsPerSecond: milliRate / 1000, burst } as const;
          let nowNs = 1e15;
          let fullAtNs = 0;
          const accepted: number[] = [];
          for (const gap of gaps) {
            nowNs += gap;
            let decision = takeToken(fullAtNs, rate, nowNs);
            if (decision.kind === "refused") {
              nowNs += decision.retryAfterNs;
              decision = takeToken(fullAtNs, rate, nowNs);
            }
            if (decision.kind === "refused") throw new Error("refused although it waited");
            fullAtNs = decision.fullAtNs;
            accepted.push(nowNs);
          }
          for (const [first, startNs] of accepted.entries()) {
            for (const [last, endNs] of accepted.entries()) {
              if (last < first) continue;
              const allowed = burst + ((endNs - startNs) / SECOND) * rate.requestsPerSecond;
              expect(last - first + 1).toBeLessThanOrEqual(allowed + 1e-6);
            }
          }
        },
      ),
      { seed: 7 },
    );
  });
});
