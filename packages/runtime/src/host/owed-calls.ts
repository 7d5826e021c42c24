import type { Watchdog } from "./watchdog.ts";
import type { OwedCall } from "./worker-watch.ts";

/** The calls that a worker has not answered yet, under the watchdog's eye. */
export interface OwedCalls {
  /** Of those that keep the worker from going. */
  readonly count: number;
  /** What `answer` comes to. Who stops waiting for this leaves the call owed. */
  wait<Answer>(call: OwedCall, answer: Promise<Answer>): Promise<Answer>;
}

export function createOwedCalls(watchdog: Pick<Watchdog, "tell">): OwedCalls {
  let count = 0;
  return {
    get count() {
      return count;
    },
    async wait(call, answer) {
      // A start is owed to nobody in particular: the worker may go before it is through.
      const weight = call.kind === "start" ? 0 : 1;
      count += weight;
      watchdog.tell({ kind: "posted", call });
      try {
        return await answer;
      } catch (thrown) {
        // A channel that closes rejects its calls first and says why right afterwards.
        await Promise.resolve();
        throw thrown;
      } finally {
        count -= weight;
        watchdog.tell({ kind: "answered", call });
      }
    },
  };
}
