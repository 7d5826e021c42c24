import { withSignalFan } from "../lifecycle/signal-fan.ts";
import type { ModelFile, StoreLocks } from "../ports.ts";

/** What this server does to a store that others may use too. */
export interface StoreUse {
  /** While `task` runs, nobody removes anything from the store: it may bring in what no server knows of yet. */
  whileWriting<Result>(signal: AbortSignal, task: () => Promise<Result>): Promise<Result>;
  /** Until the result is called, nobody removes these files. Rejects with the signal's reason and holds nothing then. */
  use(files: readonly ModelFile[], signal: AbortSignal): Promise<() => void>;
}

const WRITING = "writing";

/** Without locks nothing is ever removed, so that nothing need be held. */
export function createStoreUse(locks: StoreLocks | undefined): StoreUse {
  const hold = async (names: readonly string[], signal: AbortSignal): Promise<() => void> => {
    if (locks === undefined) return () => undefined;
    const results = await withSignalFan(signal, (fan) =>
      Promise.allSettled(names.map((name) => fan.run((own) => locks.hold(name, own)))),
    );
    const release = (): void => {
      for (const result of results) if (result.status === "fulfilled") result.value();
    };
    const failed = results.find((result) => result.status === "rejected");
    if (failed === undefined) return release;
    release();
    throw failed.reason;
  };
  return {
    async whileWriting(signal, task) {
      const release = await hold([WRITING], signal);
      try {
        return await task();
      } finally {
        release();
      }
    },
    use: (files, signal) => hold([...new Set(files.map(({ sha256 }) => sha256))], signal),
  };
}

/** Runs `task` while no server of the store brings anything in; says whether it ran. */
export function whileNobodyWrites(locks: StoreLocks, task: () => Promise<void>): Promise<boolean> {
  return locks.whileFree(WRITING, task);
}
