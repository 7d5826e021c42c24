import type { ArmTimer } from "./timer-queue.ts";

/** The ways to wait that a worker may have. */
export interface WaitPlatform {
  setTimeout(wake: () => void, delayMs: number): number;
  clearTimeout(id: number): void;
  /** Resolves after about `delayMs`, or soon after `notify`. Where `Atomics.waitAsync` and shared memory exist. */
  readonly waitAsync?: { wait(delayMs: number): Promise<unknown>; notify(): void };
  /** `scheduler.postTask` with a delay, where it exists. Never rejects. */
  readonly postTask?: (wake: () => void, delayMs: number) => void;
  /** Calls `wake` in a task of its own, as soon as possible. */
  hop(wake: () => void): void;
}

export type WaitStep =
  | { readonly kind: "wait-async"; readonly delayMs: number }
  | { readonly kind: "post-task"; readonly delayMs: number }
  | { readonly kind: "timeout"; readonly delayMs: number }
  | { readonly kind: "hop" };

/** How much later than asked for a wait-async usually ends, on a thread that has to be woken. */
const WAIT_ASYNC_SLACK_MS = 0.25;
/** Nested timeouts are stretched to at least 4 ms. */
const TIMEOUT_SLACK_MS = 4.5;
const LONGEST_TIMEOUT_MS = 0x7fff_ffff;

/**
 * The next wait towards a moment that is `remainingMs` away. Measured in Chromium for a wait of 1 ms: a nested timeout
 * takes 4.3 ms, `postTask` 1.3, `waitAsync` 1.2 (and 0.37 for 0.2 ms), and one hop through a MessageChannel 0.02. So the
 * last stretch hops where nothing better exists; longer ones sleep.
 */
export function chooseWait(
  remainingMs: number,
  has: { readonly waitAsync: boolean; readonly postTask: boolean },
): WaitStep {
  const delayMs = Math.min(remainingMs, LONGEST_TIMEOUT_MS);
  if (delayMs <= WAIT_ASYNC_SLACK_MS + 0.05) return { kind: "hop" };
  if (has.waitAsync && delayMs <= 1000) return { kind: "wait-async", delayMs: delayMs - WAIT_ASYNC_SLACK_MS };
  if (delayMs > 2 * TIMEOUT_SLACK_MS) {
    // What wait-async or the last stretch finishes exactly must not be overslept.
    return { kind: "timeout", delayMs: Math.floor(delayMs - TIMEOUT_SLACK_MS) };
  }
  if (has.postTask && delayMs >= 1.5) return { kind: "post-task", delayMs: Math.floor(delayMs - 0.5) };
  return { kind: "hop" };
}

/** Waits by whatever mix of steps comes closest to the moment asked for. */
export function createPreciseWait(nowNs: () => number, platform: WaitPlatform): ArmTimer {
  const has = { waitAsync: platform.waitAsync !== undefined, postTask: platform.postTask !== undefined };

  return (delayNs, wake) => {
    const dueNs = nowNs() + delayNs;
    let live = true;
    let undo = (): void => {};

    function advance(): void {
      if (!live) return;
      const remainingMs = (dueNs - nowNs()) / 1e6;
      if (remainingMs <= 0) {
        live = false;
        wake();
        return;
      }
      step(chooseWait(remainingMs, has));
    }

    function step(next: WaitStep): void {
      undo = () => {};
      switch (next.kind) {
        case "wait-async":
          undo = () => platform.waitAsync?.notify();
          platform.waitAsync?.wait(next.delayMs).then(advance, advance);
          return;
        case "post-task":
          platform.postTask?.(advance, next.delayMs);
          return;
        case "timeout": {
          const id = platform.setTimeout(advance, next.delayMs);
          undo = () => {
            platform.clearTimeout(id);
          };
          return;
        }
        case "hop":
          platform.hop(advance);
          return;
      }
    }

    // Never from inside the call, even for a delay of nothing, or one that passes during the call.
    step(chooseWait(delayNs / 1e6, has));
    return () => {
      live = false;
      undo();
    };
  };
}
