import { createFakeClock } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { QuantileWindow } from "./quantile-window.ts";

const SECOND = 1e9;

function window() {
  const clock = createFakeClock();
  const targets = [{ quantile: 0.5, error: 0.05 }];
  const observed = new QuantileWindow({ targets, clock });
  return { clock, observed, median: () => observed.value().quantiles[0]?.value };
}

describe("QuantileWindow", () => {
  it("tells quantiles of what was seen in the last minute, and count and sum of everything", async () => {
    const { clock, observed, median } = window();
    for (let times = 0; times < 3; times += 1) observed.observe(100);
    await clock.advance(30 * SECOND);
    observed.observe(5);
    expect(observed.value()).toMatchObject({ count: 4, sum: 305 });
    expect(median()).toBe(100);

    await clock.advance(30 * SECOND);
    expect(median()).toBe(5);
    await clock.advance(40 * SECOND);
    expect(median()).toBeNaN();
    expect(observed.value()).toMatchObject({ count: 4, sum: 305 });
  });

  it("keeps a value for at least 48 seconds, whenever it came", async () => {
    for (const wait of [0, 3, 11.9, 12, 30]) {
      const { clock, observed, median } = window();
      await clock.advance(wait * SECOND);
      observed.observe(1);
      await clock.advance(48 * SECOND);
      expect(median()).toBe(1);
      await clock.advance(12 * SECOND);
      expect(median()).toBeNaN();
    }
  });

  it("is empty after a long silence, and then begins anew", async () => {
    const { clock, observed, median } = window();
    observed.observe(1);
    await clock.advance(3600 * SECOND);
    expect(median()).toBeNaN();
    observed.observe(9);
    await clock.advance(20 * SECOND);
    expect(median()).toBe(9);
  });
});
