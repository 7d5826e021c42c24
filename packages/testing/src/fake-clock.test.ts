import { describe, expect, it } from "vitest";
import { createFakeClock } from "./fake-clock.ts";

describe("createFakeClock", () => {
  it("calls timers in order at their own times, equal ones as they were set", async () => {
    const clock = createFakeClock();
    const calls: string[] = [];
    const note = (name: string) => () => calls.push(`${name}@${clock.nowNs()}`);
    clock.after(20, note("b"));
    clock.after(10, note("a"));
    clock.after(20, note("c"));
    clock.after(31, note("late"));
    await clock.advance(30);
    expect(calls).toEqual(["a@10", "b@20", "c@20"]);
    expect(clock.nowNs()).toBe(30);
    expect(clock.timerCount).toBe(1);
  });

  it("lets promises go on between timers, and calls timers set meanwhile", async () => {
    const clock = createFakeClock();
    const calls: number[] = [];
    clock.after(10, () => {
      void Promise.resolve()
        .then(() => undefined)
        .then(() => clock.after(5, () => calls.push(clock.nowNs())));
    });
    clock.after(20, () => calls.push(clock.nowNs()));
    await clock.advance(30);
    expect(calls).toEqual([15, 20]);
  });

  it("forgets cancelled timers", async () => {
    const clock = createFakeClock();
    let called = false;
    const cancel = clock.after(10, () => {
      called = true;
    });
    cancel();
    cancel();
    await clock.drain();
    expect(called).toBe(false);
    expect(clock.nowNs()).toBe(0);
  });

  it("moves the calendar with the clock", async () => {
    const clock = createFakeClock({ epochMs: 1000 });
    await clock.advance(2_500_000);
    expect(clock.epochMs()).toBe(1002.5);
  });

  it("notices that draining never ends", async () => {
    const clock = createFakeClock();
    const again = (): void => {
      clock.after(1, again);
    };
    again();
    await expect(clock.drain({ maxTimers: 10 })).rejects.toThrow("still a timer after 10");
  });

  it("notices that a timer is set for the same moment for ever", async () => {
    const clock = createFakeClock();
    const again = (): void => {
      clock.after(0, again);
    };
    again();
    await expect(clock.advance(1)).rejects.toThrow("at the same moment");
  });
});
