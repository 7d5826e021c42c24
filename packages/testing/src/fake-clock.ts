import type { CancelTimer, Clock } from "@naiad/core";

/** Virtual time: it stands still until a test moves it. */
export interface FakeClock extends Clock {
  /**
   * Moves time forward and calls the timers that come due on the way, each at its own time and in order; after each, and
   * at the end, everything that was waiting for a promise goes on. Throws when timers are set for the same moment for ever.
   */
  advance(durationNs: number): Promise<void>;
  /** Lets everything that waits for a promise go on, without moving time. */
  settle(): Promise<void>;
  /** Advances from timer to timer until none is left. Throws after `maxTimers`: something rearms itself for ever. */
  drain(options?: { readonly maxTimers?: number }): Promise<void>;
  /** Timers that are set and neither called nor cancelled. */
  readonly timerCount: number;
  /** All timers ever set. */
  readonly timersSet: number;
}

interface Timer {
  readonly atNs: number;
  readonly wake: () => void;
}

/** More than any test needs. */
const MAX_TIMERS = 100_000;

/** More links than any chain of promises between two timers has. */
const MICROTASK_ROUNDS = 100;

export function createFakeClock(options: { readonly epochMs?: number } = {}): FakeClock {
  const startEpochMs = options.epochMs ?? 1_700_000_000_000;
  /** Ascending, equal times in the order they were set. */
  const timers: Timer[] = [];
  let nowNs = 0;
  let timersSet = 0;

  const settle = async (): Promise<void> => {
    for (let round = 0; round < MICROTASK_ROUNDS; round += 1) await Promise.resolve();
  };

  const runTimer = async (timer: Timer): Promise<void> => {
    timers.shift();
    nowNs = Math.max(nowNs, timer.atNs);
    timer.wake();
    await settle();
  };

  return {
    nowNs: () => nowNs,
    epochMs: () => startEpochMs + nowNs / 1e6,
    resolutionNs: 1,
    after(delayNs: number, wake: () => void): CancelTimer {
      timersSet += 1;
      const timer: Timer = { atNs: nowNs + delayNs, wake };
      timers.splice(insertionIndex(timers, timer.atNs), 0, timer);
      return () => {
        const index = timers.indexOf(timer);
        if (index >= 0) timers.splice(index, 1);
      };
    },
    async advance(durationNs: number): Promise<void> {
      const untilNs = nowNs + durationNs;
      await settle();
      let called = 0;
      for (let timer = timers[0]; timer !== undefined && timer.atNs <= untilNs; timer = timers[0]) {
        called = timer.atNs > nowNs ? 1 : called + 1;
        if (called > MAX_TIMERS) throw new Error(`still a timer after ${MAX_TIMERS} at the same moment`);
        await runTimer(timer);
      }
      nowNs = untilNs;
      await settle();
    },
    settle,
    async drain({ maxTimers = MAX_TIMERS } = {}): Promise<void> {
      await settle();
      let called = 0;
      for (let timer = timers[0]; timer !== undefined; timer = timers[0]) {
        called += 1;
        if (called > maxTimers) throw new Error(`still a timer after ${maxTimers}`);
        await runTimer(timer);
      }
    },
    get timerCount() {
      return timers.length;
    },
    get timersSet() {
      return timersSet;
    },
  };
}

function insertionIndex(timers: readonly Timer[], atNs: number): number {
  let low = 0;
  let high = timers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((timers[middle]?.atNs ?? Infinity) <= atNs) low = middle + 1;
    else high = middle;
  }
  return low;
}
