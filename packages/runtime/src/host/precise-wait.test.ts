import { describe, expect, it } from "vitest";
import { chooseWait, createPreciseWait } from "./precise-wait.ts";
import type { WaitPlatform } from "./precise-wait.ts";

const ISOLATED = { waitAsync: true, postTask: true };
const MODERN = { waitAsync: false, postTask: true };
const BARE = { waitAsync: false, postTask: false };

describe("chooseWait", () => {
  it.each([
    ["a moment is left", 0.02, ISOLATED, { kind: "hop" }],
    ["isolated, a little is left", 0.3, ISOLATED, { kind: "hop" }],
    ["isolated", 0.5, ISOLATED, { kind: "wait-async", delayMs: 0.25 }],
    ["isolated, longer", 800, ISOLATED, { kind: "wait-async", delayMs: 799.75 }],
    ["very long", 5000, ISOLATED, { kind: "timeout", delayMs: 4995 }],
    ["longer than a timeout can be", 1e12, ISOLATED, { kind: "timeout", delayMs: 0x7fff_ffff - 5 }],
    ["not isolated", 0.3, MODERN, { kind: "hop" }],
    ["not isolated, some ms", 5, MODERN, { kind: "post-task", delayMs: 4 }],
    ["not isolated, long", 100, MODERN, { kind: "timeout", delayMs: 95 }],
    ["neither, some ms", 5, BARE, { kind: "hop" }],
    ["neither, long", 100, BARE, { kind: "timeout", delayMs: 95 }],
  ] as const)("%s", (_case, remainingMs, has, expected) => {
    expect(chooseWait(remainingMs, has)).toEqual(expected);
  });
});

/** Virtual time in which every kind of wait is as inexact as the real one. */
function platform(has: typeof ISOLATED) {
  let nowMs = 0;
  const steps: string[] = [];
  const tasks: { readonly atMs: number; readonly run: () => void }[] = [];
  const later = (delayMs: number, run: () => void) => {
    const task = { atMs: nowMs + delayMs, run };
    tasks.push(task);
    return task;
  };
  let notify = (): void => undefined;
  const waits: WaitPlatform = {
    setTimeout: (wake, delayMs) => {
      steps.push("timeout");
      later(Math.max(4, delayMs) + 0.3, wake);
      return tasks.length;
    },
    clearTimeout: (id) => {
      tasks.splice(id - 1, 1);
    },
    hop: (wake) => {
      steps.push("hop");
      later(0.02, wake);
    },
    ...(has.waitAsync && {
      waitAsync: {
        wait: (delayMs: number) =>
          new Promise<void>((resolve) => {
            steps.push("wait-async");
            notify = resolve;
            later(delayMs + 0.15, resolve);
          }),
        notify: () => {
          notify();
        },
      },
    }),
    ...(has.postTask && {
      postTask: (wake: () => void, delayMs: number) => {
        steps.push("post-task");
        later(delayMs + 0.3, wake);
      },
    }),
  };
  return {
    steps,
    waits,
    wait: createPreciseWait(() => nowMs * 1e6, waits),
    nowMs: () => nowMs,
    runAll: async () => {
      for (;;) {
        const next = tasks.sort((a, b) => a.atMs - b.atMs).shift();
        if (next === undefined) return;
        nowMs = Math.max(nowMs, next.atMs);
        next.run();
        await Promise.resolve();
        await Promise.resolve();
      }
    },
  };
}

describe("createPreciseWait", () => {
  it.each([
    ["isolated", ISOLATED, 0.2],
    ["isolated", ISOLATED, 5],
    ["isolated", ISOLATED, 3000],
    ["with postTask", MODERN, 0.2],
    ["with postTask", MODERN, 5],
    ["with postTask", MODERN, 3000],
    ["with neither", BARE, 5],
    ["with neither", BARE, 3000],
  ] as const)(
    "%s %o: a wait of %d ms is never early and less than half a ms late",
    async (_case, has, delayMs) => {
      const { wait, runAll, nowMs } = platform(has);
      const woken: number[] = [];
      wait(delayMs * 1e6, () => woken.push(nowMs()));
      await runAll();
      expect(woken).toHaveLength(1);
      expect(woken[0]).toBeGreaterThanOrEqual(delayMs);
      expect(woken[0]).toBeLessThan(delayMs + 0.5);
    },
  );

  it("does not wake from inside the call", async () => {
    const { wait, runAll } = platform(ISOLATED);
    let woken = 0;
    wait(0, () => (woken += 1));
    expect(woken).toBe(0);
    await runAll();
    expect(woken).toBe(1);
  });

  it("does not wake from inside the call when the delay passes during it", async () => {
    const { waits, runAll } = platform(BARE);
    let readings = 0;
    const wait = createPreciseWait(() => 1000 * (readings += 1), waits);
    let woken = 0;
    wait(500, () => (woken += 1));
    expect(woken).toBe(0);
    await runAll();
    expect(woken).toBe(1);
  });

  it.each([
    ["wait-async", ISOLATED, 5],
    ["post-task", MODERN, 5],
    ["timeout", BARE, 100],
    ["hop", BARE, 1],
  ] as const)("can be cancelled while it waits by %s", async (step, has, delayMs) => {
    const { wait, runAll, steps } = platform(has);
    let woken = 0;
    const cancel = wait(delayMs * 1e6, () => (woken += 1));
    expect(steps).toEqual([step]);
    cancel();
    await runAll();
    expect(woken).toBe(0);
    expect(steps).toEqual([step]);
  });
});
