import { createFakeClock } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { createAlarm } from "./alarm.ts";

describe("an alarm", () => {
  it("keeps to the earliest time that was asked for, with one timer", async () => {
    const clock = createFakeClock();
    const woken: number[] = [];
    const alarm = createAlarm(clock, () => {
      woken.push(clock.nowNs());
    });
    for (const atNs of [Infinity, 50, 80, 20]) alarm.setAt(atNs);
    expect(clock.timerCount).toBe(1);
    await clock.advance(100);
    expect(woken).toEqual([20]);
  });

  it("may be set again by whoever is woken, and to a time that has passed", async () => {
    const clock = createFakeClock();
    const woken: number[] = [];
    const alarm = createAlarm(clock, () => {
      woken.push(clock.nowNs());
      if (woken.length === 1) alarm.setAt(0);
    });
    alarm.setAt(10);
    await clock.drain();
    expect(woken).toEqual([10, 10]);
  });

  it("rings no more once it is cancelled", async () => {
    const clock = createFakeClock();
    let woken = 0;
    const alarm = createAlarm(clock, () => {
      woken += 1;
    });
    alarm.setAt(10);
    alarm.cancel();
    alarm.cancel();
    await clock.drain();
    expect(woken).toBe(0);
    alarm.setAt(20);
    await clock.drain();
    expect(woken).toBe(1);
  });
});
