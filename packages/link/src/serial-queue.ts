import { cancelled } from "./cancelled.ts";

/** Runs tasks one at a time in the order they came. A task that fails does not disturb the next one. */
export interface SerialQueue {
  /**
   * Resolves or rejects as the task does. An abort while the task still waits takes it out of the queue and rejects with
   * CANCELLED; once it runs, the signal is the task's own business.
   */
  run<Value>(task: () => Promise<Value>, signal?: AbortSignal): Promise<Value>;
  /** Tasks that wait or run. */
  readonly size: number;
}

export function createSerialQueue(): SerialQueue {
  const waiting = new Set<() => void>();
  let isRunning = false;

  function startNext(): void {
    for (const start of waiting) {
      waiting.delete(start);
      start();
      return;
    }
    isRunning = false;
  }

  return {
    get size() {
      return waiting.size + (isRunning ? 1 : 0);
    },
    run(task, signal) {
      return new Promise((resolve, reject) => {
        const abort = (): void => {
          waiting.delete(start);
          reject(cancelled(signal?.reason));
        };
        const start = (): void => {
          signal?.removeEventListener("abort", abort);
          settle(task).then(resolve, reject).finally(startNext);
        };
        if (signal?.aborted === true) {
          reject(cancelled(signal.reason));
          return;
        }
        signal?.addEventListener("abort", abort, { once: true });
        waiting.add(start);
        if (!isRunning) {
          isRunning = true;
          startNext();
        }
      });
    },
  };
}

/** A task that throws before its first wait rejects like any other. */
async function settle<Value>(task: () => Promise<Value>): Promise<Value> {
  return await task();
}
