import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { createNodeClock } from "./node-clock.ts";

it("wakes at the moment, not before and never inside the call", async () => {
  const clock = createNodeClock();
  const from = clock.nowNs();
  const wokenAt = new Promise<number>((resolve) => {
    clock.after(5e6, () => {
      resolve(clock.nowNs());
    });
  });
  expect((await wokenAt) - from).toBeGreaterThanOrEqual(5e6);
  let calls = 0;
  clock.after(-1, () => {
    calls += 1;
  });
  expect(calls).toBe(0);
  await expect.poll(() => calls).toBe(1);
});

it("waits in few steps for what is further off than any timer reaches", async () => {
  const warnings: string[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning.name);
  process.on("warning", onWarning);
  const clock = createNodeClock();
  let calls = 0;
  const cancel = clock.after(1e15, () => {
    calls += 1;
  });
  await sleep(30);
  cancel();
  process.off("warning", onWarning);
  expect(calls).toBe(0);
  expect(warnings).toEqual([]);
});
