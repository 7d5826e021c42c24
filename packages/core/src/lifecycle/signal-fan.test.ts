import { describe, expect, it } from "vitest";
import { createSignalFan, withSignalFan } from "./signal-fan.ts";

function untilAborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    signal.addEventListener("abort", () => {
      resolve(signal.reason);
    });
  });
}

describe("a signal fan", () => {
  it("fires for every task that runs, and for those that come later", async () => {
    const fan = createSignalFan();
    const running = [fan.run(untilAborted), fan.run(untilAborted)];
    fan.abort("enough");
    fan.abort("again");
    expect(await Promise.all([...running, fan.run(untilAborted)])).toEqual(["enough", "enough", "enough"]);
    expect(fan.aborted).toBe(true);
    expect(() => {
      fan.throwIfAborted();
    }).toThrow("enough");
  });

  it("gives each task a signal of its own, which is left alone once the task has ended", async () => {
    const fan = createSignalFan();
    const signals = await Promise.all([1, 2].map(() => fan.run((signal) => Promise.resolve(signal))));
    expect(new Set(signals).size).toBe(2);
    fan.abort("late");
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
  });

  it("passes on what a task ends with", async () => {
    await expect(createSignalFan().run(() => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  });

  it("listens to its parent once, whatever runs, and no longer than the work", async () => {
    const parent = new AbortController();
    let listeners = 0;
    const counted = new Proxy(parent.signal, {
      get: (signal, name) => {
        if (name === "addEventListener") {
          return (...given: Parameters<AbortSignal["addEventListener"]>) => {
            listeners += 1;
            signal.addEventListener(...given);
          };
        }
        if (name === "removeEventListener") {
          return (...given: Parameters<AbortSignal["removeEventListener"]>) => {
            listeners -= 1;
            signal.removeEventListener(...given);
          };
        }
        const value: unknown = Reflect.get(signal, name, signal);
        return value;
      },
    });
    const work = withSignalFan(counted, (fan) =>
      Promise.all(Array.from({ length: 12 }, () => fan.run(untilAborted))),
    );
    expect(listeners).toBe(1);
    parent.abort("over");
    expect(await work).toEqual(Array<string>(12).fill("over"));
    expect(listeners).toBe(0);
    expect(await withSignalFan(parent.signal, (fan) => fan.run(untilAborted))).toBe("over");
  });
});
