import { untilAborted } from "./wait.ts";

/** Counts completions, and lets one at a time wait for a number of them. */
export interface CompletionCounter {
  readonly count: number;
  add(): void;
  reach(count: number, signal: AbortSignal): Promise<void>;
}

export function createCompletionCounter(): CompletionCounter {
  let count = 0;
  let waiting: { readonly count: number; readonly resolve: () => void } | undefined;
  return {
    get count() {
      return count;
    },
    add: () => {
      count += 1;
      if (waiting === undefined || count < waiting.count) return;
      const { resolve } = waiting;
      waiting = undefined;
      resolve();
    },
    reach: async (wanted, signal) => {
      if (count >= wanted) return;
      await untilAborted(signal, (resolve) => {
        waiting = { count: wanted, resolve };
        return () => {
          waiting = undefined;
        };
      });
    },
  };
}
