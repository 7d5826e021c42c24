import type { CancelTimer, Clock } from "@naiad/core";
import { createFakeClock } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { createWatchdog } from "./watchdog.ts";
import type { OwedCall, WatchDeadline, WatchEvent } from "./worker-watch.ts";

const LIMITS = { createMs: 1000, firstRunMs: 500, runMs: 100 };
const call = (kind: OwedCall["kind"], instanceId = "a", limits = LIMITS): OwedCall => ({
  instanceId,
  kind,
  limits,
});

const START = call("start", "worker");
const CREATE = call("create");
const RUN = call("execute");
const RUN_B = call("execute", "b");
const RELEASE = call("release");

type Step = readonly [atMs: number, event: WatchEvent];
const posted = (posting: OwedCall): WatchEvent => ({ kind: "posted", call: posting });
const answered = (answering: OwedCall): WatchEvent => ({ kind: "answered", call: answering });
const began = (operation: "create" | "first-run" | "run" | "release", instanceId = "a"): WatchEvent => ({
  kind: "began",
  instanceId,
  operation,
});

interface Expiry {
  readonly atMs: number;
  readonly culprit: string | undefined;
  readonly reason: RegExp;
}

/** When the watchdog barks within a minute of virtual time, and at whom. */
async function play(steps: readonly Step[]): Promise<{ atMs: number; deadline: WatchDeadline }[]> {
  const clock = createFakeClock();
  const barks: { atMs: number; deadline: WatchDeadline }[] = [];
  const watchdog = createWatchdog(clock, (deadline) => barks.push({ atMs: clock.nowNs() / 1e6, deadline }));
  for (const [atMs, event] of steps) {
    await clock.advance(atMs * 1e6 - clock.nowNs());
    watchdog.tell(event);
  }
  await clock.advance(60e9);
  return barks;
}

describe("createWatchdog", () => {
  const expiring: readonly (readonly [name: string, steps: readonly Step[], expected: Expiry])[] = [
    [
      "a worker that does not start",
      [[0, posted(START)]],
      { atMs: 1000, culprit: undefined, reason: /did not start within 1000 ms/ },
    ],
    [
      "a create that hangs, by the create limit from its beginning",
      [
        [0, posted(CREATE)],
        [50, began("create")],
      ],
      { atMs: 1050, culprit: "a", reason: /loading a model did not end within 1000 ms/ },
    ],
    [
      "a first run, by its own limit",
      [
        [0, posted(RUN)],
        [1, began("first-run")],
      ],
      { atMs: 501, culprit: "a", reason: /the first execution of a model did not end within 500 ms/ },
    ],
    [
      "a run",
      [
        [0, posted(RUN)],
        [1, began("run")],
      ],
      { atMs: 101, culprit: "a", reason: /an execution did not end within 100 ms/ },
    ],
    [
      "a run that waits for another model, by the create limit",
      [
        [0, posted(RUN)],
        [50, { kind: "waits", wait: "answer" }],
      ],
      { atMs: 1050, culprit: "a", reason: /it waited for another model for 1000 ms/ },
    ],
    [
      "a run that loops after its last answer, by its limit from there",
      [
        [0, posted(RUN)],
        [50, { kind: "waits", wait: "answer" }],
        [60, { kind: "waits", wait: "answer" }],
        [400, { kind: "heard", wait: "answer" }],
        [900, { kind: "heard", wait: "answer" }],
      ],
      { atMs: 1000, culprit: "a", reason: /an execution did not end within 100 ms/ },
    ],
    [
      "a release, by the create limit",
      [
        [0, posted(RELEASE)],
        [1, began("release")],
      ],
      { atMs: 1001, culprit: "a", reason: /unloading a model did not end/ },
    ],
    [
      "an execution that found the worker idle, by its limit from the moment it was posted",
      [[0, posted(RUN)]],
      { atMs: 100, culprit: "a", reason: /an execution did not end within 100 ms/ },
    ],
    [
      "a create that is never begun",
      [[0, posted(CREATE)]],
      { atMs: 1000, culprit: undefined, reason: /did not begin what it was asked for within 1000 ms/ },
    ],
    [
      "the second of two, not before its own time",
      [
        [0, posted(RUN)],
        [0, posted(RUN_B)],
        [1, began("run")],
        [90, answered(RUN)],
        [91, began("run", "b")],
      ],
      { atMs: 191, culprit: "b", reason: /an execution/ },
    ],
    [
      "a worker that stops between two operations",
      [
        [0, posted(RUN)],
        [0, posted(RUN_B)],
        [1, began("run")],
        [90, answered(RUN)],
      ],
      { atMs: 590, culprit: undefined, reason: /did not begin/ },
    ],
    [
      "an operation whose neighbour was refused meanwhile",
      [
        [0, posted(RUN)],
        [1, began("run")],
        [10, posted(RUN_B)],
        [20, answered(RUN_B)],
      ],
      { atMs: 101, culprit: "a", reason: /an execution/ },
    ],
    [
      "a create that was given up and hangs",
      [
        [0, posted(CREATE)],
        [1, began("create")],
        [10, posted(RELEASE)],
      ],
      { atMs: 1001, culprit: "a", reason: /loading a model/ },
    ],
  ];
  it.each(expiring)("ends %s", async (_name, steps, expected) => {
    const barks = await play(steps);
    expect(barks.map(({ atMs, deadline }) => ({ atMs, culprit: deadline.culprit }))).toEqual([
      { atMs: expected.atMs, culprit: expected.culprit },
    ]);
    expect(barks[0]?.deadline.reason).toMatch(expected.reason);
  });

  const quiet: readonly (readonly [name: string, steps: readonly Step[]])[] = [
    ["nothing that was ever asked", []],
    [
      "what is answered in time",
      [
        [0, posted(CREATE)],
        [1, began("create")],
        [999, answered(CREATE)],
        [2000, posted(RUN)],
        [2001, began("first-run")],
        [2400, answered(RUN)],
      ],
    ],
    [
      "a long line of short runs",
      Array.from({ length: 50 }, (_, index): Step[] => [
        [index * 90, posted(RUN)],
        [index * 90 + 1, began("run")],
        [index * 90 + 80, answered(RUN)],
      ]).flat(),
    ],
    ["an operation that nobody waits for", [[0, began("run")]]],
    [
      "a create that was given up and released",
      [
        [0, posted(CREATE)],
        [1, began("create")],
        [10, posted(RELEASE)],
        [900, began("release")],
        [910, answered(RELEASE)],
      ],
    ],
    [
      "an operation without a limit",
      [
        [0, posted(call("execute", "a", { ...LIMITS, runMs: 0 }))],
        [1, began("run")],
      ],
    ],
    [
      "a call that waits where one of its limits is none",
      [
        [0, posted(RUN)],
        [0, posted(call("execute", "b", { ...LIMITS, firstRunMs: 0 }))],
        [50, answered(RUN)],
      ],
    ],
  ];
  it.each(quiet)("leaves alone %s", async (_name, steps) => {
    expect(await play(steps)).toEqual([]);
  });

  it("knows what runs", () => {
    const watchdog = createWatchdog(createFakeClock(), () => undefined);
    watchdog.tell(posted(RUN));
    watchdog.tell(posted(RUN_B));
    expect(watchdog.running()).toBe("a");
    watchdog.tell(answered(RUN));
    expect(watchdog.running()).toBeUndefined();
    watchdog.tell(began("run", "b"));
    expect(watchdog.running()).toBe("b");
    watchdog.tell(answered(RUN_B));
    expect(watchdog.running()).toBeUndefined();
  });

  it("is silent once stopped", async () => {
    const clock = createFakeClock();
    let barks = 0;
    const watchdog = createWatchdog(clock, () => (barks += 1));
    watchdog.tell(posted(RUN));
    watchdog.stop();
    watchdog.tell(posted(RUN));
    await clock.advance(60e9);
    expect(barks).toBe(0);
    expect(clock.timerCount).toBe(0);
  });

  it("sets no timer for each operation", async () => {
    const clock = createFakeClock();
    const watchdog = createWatchdog(clock, () => undefined);
    for (let run = 0; run < 1000; run += 1) {
      watchdog.tell(posted(RUN));
      watchdog.tell(began("run"));
      await clock.advance(1e6);
      watchdog.tell(answered(RUN));
    }
    expect(clock.timersSet).toBeLessThan(20);
  });

  it("does not count the time in which the whole machine stood still", () => {
    // Its timers ring when the test says so, however late that is.
    let nowMs = 0;
    const alarms: (() => void)[] = [];
    const clock: Clock = {
      nowNs: () => nowMs * 1e6,
      epochMs: () => nowMs,
      resolutionNs: 1e6,
      after(_delayNs, wake): CancelTimer {
        alarms.push(wake);
        return () => undefined;
      },
    };
    const ringAt = (ms: number): void => {
      nowMs = ms;
      alarms.pop()?.();
    };
    const expired: number[] = [];
    const watchdog = createWatchdog(clock, () => expired.push(nowMs));
    watchdog.tell(posted(CREATE));
    watchdog.tell(began("create"));
    ringAt(3_600_000);
    expect(expired).toEqual([]);
    ringAt(3_600_500);
    expect(expired).toEqual([]);
    ringAt(3_601_000);
    expect(expired).toEqual([3_601_000]);
  });
});
