import { createFakeClock } from "@naiad/testing";
import { expect, it } from "vitest";
import { watchForStall } from "./stall-watch.ts";

const LIMIT_NS = 100;

function bench() {
  const clock = createFakeClock();
  const stalls: number[] = [];
  const watch = watchForStall(clock, LIMIT_NS, () => stalls.push(clock.nowNs()));
  return { clock, stalls, watch };
}

it("tells once, when requests are on their way and none was answered for the limit", async () => {
  const { clock, stalls, watch } = bench();
  watch.sent();
  watch.sent();
  await clock.advance(60);
  watch.answered();
  await clock.advance(99);
  expect(stalls).toEqual([]);
  await clock.advance(500);
  expect(stalls).toEqual([160]);
  expect(clock.timerCount).toBe(0);
});

it("does not mind that nothing is asked", async () => {
  const { clock, stalls, watch } = bench();
  watch.sent();
  watch.answered();
  await clock.advance(1000);
  watch.sent();
  await clock.advance(99);
  watch.answered();
  await clock.advance(1000);
  expect(stalls).toEqual([]);
  watch.stop();
  expect(clock.timerCount).toBe(0);
});
