import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTimerQueue } from "./timer-queue.ts";

/** A platform with one slow alarm: it rings `latenessNs` after the time it was set for. */
function platform(latenessNs = 0) {
  let nowNs = 0;
  let alarm: { readonly atNs: number; readonly wake: () => void } | undefined;
  let armings = 0;
  const queue = createTimerQueue(
    () => nowNs,
    (delayNs, wake) => {
      armings += 1;
      const mine = { atNs: nowNs + delayNs + latenessNs, wake };
      alarm = mine;
      return () => {
        if (alarm === mine) alarm = undefined;
      };
    },
  );
  return {
    queue,
    now: () => nowNs,
    armings: () => armings,
    isArmed: () => alarm !== undefined,
    advanceTo: (untilNs: number) => {
      while (alarm !== undefined && alarm.atNs <= untilNs) {
        const { atNs, wake } = alarm;
        alarm = undefined;
        nowNs = Math.max(nowNs, atNs);
        wake();
      }
      nowNs = untilNs;
    },
  };
}

describe("createTimerQueue", () => {
  it("wakes in the order of time, and of arrival at the same time", () => {
    const { queue, advanceTo } = platform();
    const woken: string[] = [];
    queue.after(30, () => woken.push("late"));
    queue.after(10, () => woken.push("early, first"));
    queue.after(10, () => woken.push("early, second"));
    advanceTo(20);
    expect(woken).toEqual(["early, first", "early, second"]);
    advanceTo(30);
    expect(woken).toEqual(["early, first", "early, second", "late"]);
  });

  it("keeps one alarm, and sets it anew only for an earlier time", () => {
    const { queue, armings } = platform();
    queue.after(100, () => undefined);
    queue.after(200, () => undefined);
    expect(armings()).toBe(1);
    queue.after(50, () => undefined);
    expect(armings()).toBe(2);
  });

  it("arms nothing more once all are cancelled and the alarm has rung", () => {
    const { queue, advanceTo, isArmed } = platform();
    const woken: number[] = [];
    for (const at of [5, 10, 15]) queue.after(at, () => woken.push(at))();
    advanceTo(5);
    expect(woken).toEqual([]);
    expect(isArmed()).toBe(false);
  });

  it("goes on after a wake that throws", () => {
    const { queue, advanceTo } = platform();
    const woken: string[] = [];
    queue.after(10, () => {
      throw new Error("a wake's own fault");
    });
    queue.after(20, () => woken.push("next"));
    expect(() => {
      advanceTo(10);
    }).toThrow("own fault");
    advanceTo(20);
    expect(woken).toEqual(["next"]);
  });

  it("lets a wake set a timer for at once, which waits for its own turn", () => {
    const { queue, advanceTo } = platform();
    const woken: string[] = [];
    queue.after(10, () => {
      woken.push("first");
      queue.after(0, () => woken.push("second"));
      woken.push("first ends");
    });
    advanceTo(10);
    expect(woken).toEqual(["first", "first ends", "second"]);
  });

  it("wakes each exactly once and never early, whatever is cancelled and however late the alarm", () => {
    const plan = fc.array(fc.record({ delay: fc.nat(50), cancelled: fc.boolean() }), { maxLength: 40 });
    fc.assert(
      fc.property(plan, fc.nat(20), (timers, latenessNs) => {
        const { queue, advanceTo, now } = platform(latenessNs);
        const woken = new Map<number, number>();
        timers.forEach(({ delay, cancelled }, index) => {
          const cancel = queue.after(delay, () => {
            expect(now()).toBeGreaterThanOrEqual(delay);
            woken.set(index, (woken.get(index) ?? 0) + 1);
          });
          if (cancelled) cancel();
        });
        advanceTo(50 + 2 * latenessNs);
        timers.forEach(({ cancelled }, index) => {
          expect(woken.get(index) ?? 0).toBe(cancelled ? 0 : 1);
        });
      }),
      { seed: 7 },
    );
  });
});
