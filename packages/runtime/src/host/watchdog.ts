import type { CancelTimer, Clock } from "@naiad/core";
import { IDLE_WATCH, watch, watchDeadline } from "./worker-watch.ts";
import type { WatchDeadline, WatchEvent } from "./worker-watch.ts";

export interface Watchdog {
  tell(event: WatchEvent): void;
  /** The instance whose operation runs right now, as far as the worker has told. */
  running(): string | undefined;
  stop(): void;
}

/** How far ahead the watchdog sleeps at most, and how much later it may wake before it knows that the host stood still. */
const STRIDE_NS = 2e9;
const OVERSLEPT_NS = 3e9;

/** Calls `onExpired` once when the worker has not shown progress in time. Costs no timer per operation. */
export function createWatchdog(clock: Clock, onExpired: (deadline: WatchDeadline) => void): Watchdog {
  let state = IDLE_WATCH;
  let timer: { readonly cancel: CancelTimer; readonly setNs: number; readonly dueNs: number } | undefined;
  let stopped = false;

  function schedule(): void {
    if (stopped) return;
    const deadline = watchDeadline(state);
    if (deadline === undefined) return;
    const now = clock.nowNs();
    const dueNs = Math.min(deadline.atNs, now + STRIDE_NS);
    // A timer that comes earlier looks again by itself: most operations end long before it.
    if (timer !== undefined && timer.dueNs <= dueNs) return;
    timer?.cancel();
    timer = { cancel: clock.after(dueNs - now, check), setNs: now, dueNs };
  }

  function check(): void {
    if (timer === undefined || stopped) return;
    const now = clock.nowNs();
    const { setNs, dueNs } = timer;
    timer = undefined;
    // When it fell asleep nobody knows, so nothing counts since the timer was set.
    if (now - dueNs > OVERSLEPT_NS) state = watch(state, { kind: "suspended", ns: now - setNs }, now);
    const deadline = watchDeadline(state);
    if (deadline !== undefined && deadline.atNs <= now) {
      stopped = true;
      onExpired(deadline);
      return;
    }
    schedule();
  }

  return {
    tell(event) {
      state = watch(state, event, clock.nowNs());
      schedule();
    },
    running: () => state.running?.instanceId,
    stop() {
      stopped = true;
      timer?.cancel();
      timer = undefined;
    },
  };
}
