import { describe, expect, it } from "vitest";
import { createBrowserClock } from "./browser-clock.ts";

describe("createBrowserClock", () => {
  it("wakes at the right time on the real platform", async () => {
    const clock = createBrowserClock();
    const startNs = clock.nowNs();
    const order: string[] = [];
    await Promise.all([
      new Promise<void>((resolve) => {
        clock.after(12e6, () => {
          order.push("12 ms");
          resolve();
        });
      }),
      new Promise<void>((resolve) => {
        clock.after(0.3e6, () => {
          expect(clock.nowNs() - startNs).toBeGreaterThanOrEqual(0.3e6);
          order.push("0.3 ms");
          resolve();
        });
      }),
    ]);
    expect(clock.nowNs() - startNs).toBeGreaterThanOrEqual(12e6);
    expect(order).toEqual(["0.3 ms", "12 ms"]);
  });

  it("knows how finely it measures", () => {
    const { resolutionNs } = createBrowserClock();
    expect(resolutionNs).toBeGreaterThan(0);
    expect(resolutionNs).toBeLessThan(1e6);
  });

  it("tells the time of day", () => {
    expect(Math.abs(createBrowserClock().epochMs() - Date.now())).toBeLessThan(1000);
  });
});
