import type { Clock } from "@naiad/core";
import { LONGEST_TIMER_MS } from "../longest-timer.ts";

/** A timeout of Node.js comes up to so much late. */
const TIMEOUT_SLACK_MS = 1.2;

/** Waits to the moment: the last bit of it without sleep, between the events that come in. */
export function createNodeClock(): Clock {
  const nowNs = (): number => Math.round(performance.now() * 1e6);
  return {
    nowNs,
    epochMs: () => Date.now(),
    resolutionNs: 1000,
    after: (delayNs, wake) => {
      const dueNs = nowNs() + delayNs;
      let cancel = (): void => undefined;
      const step = (): void => {
        const remainingMs = (dueNs - nowNs()) / 1e6;
        if (remainingMs <= 0) wake();
        else if (remainingMs > 2 * TIMEOUT_SLACK_MS) {
          const timer = setTimeout(step, Math.min(remainingMs - TIMEOUT_SLACK_MS, LONGEST_TIMER_MS));
          cancel = () => {
            clearTimeout(timer);
          };
        } else {
          const immediate = setImmediate(step);
          cancel = () => {
            clearImmediate(immediate);
          };
        }
      };
      // Never from inside the call.
      const first = setImmediate(step);
      cancel = () => {
        clearImmediate(first);
      };
      return () => {
        cancel();
      };
    },
  };
}
