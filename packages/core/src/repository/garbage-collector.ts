import { InferenceError } from "@naiad/protocol";
import type { CancelTimer, Clock, FileStore, Logger, ModelFile, StoreLocks } from "../ports.ts";
import { whileNobodyWrites } from "./store-use.ts";

export interface GarbageCollector {
  /** Looks through the store soon; more wishes until then are one. */
  request(): void;
  /** Resolves when no look goes on any more, and there are no others. */
  stop(): Promise<void>;
}

export interface GarbageCollectorOptions {
  readonly store: FileStore;
  readonly locks: StoreLocks;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Every file that may be wanted again, or `undefined` where that cannot be known now: then nothing is removed. */
  readonly wanted: () => Promise<readonly ModelFile[] | undefined>;
}

/** Models come and go in groups, and an unloaded version is freed a little later. */
const SETTLE_NS = 1e9;

/**
 * Removes from the store what nobody needs: files of models that were replaced or taken out of the repository, uploads of
 * models that were unloaded, and what downloads left that will never be completed. What another tab serves stays, whether
 * it is known here or not, and where one is just loading something everything does: it looks by itself when it is done.
 */
export function createGarbageCollector(options: GarbageCollectorOptions): GarbageCollector {
  const { store, locks, clock, logger } = options;
  let cancelTimer: CancelTimer | undefined;
  let running = Promise.resolve();
  let isStopped = false;

  async function collect(): Promise<void> {
    try {
      await whileNobodyWrites(locks, async () => {
        const wanted = await options.wanted();
        if (wanted !== undefined && !isStopped) await removeAllBut(wanted);
      });
    } catch (thrown) {
      const { message } = InferenceError.from(thrown);
      logger.log("warning", `stored files that are not needed any more could not be removed: ${message}`);
    }
  }

  async function removeAllBut(wanted: readonly ModelFile[]): Promise<void> {
    const keys = new Set(wanted.map(({ sha256 }) => sha256));
    const doomed = (await store.files()).filter(({ sha256 }) => !keys.has(sha256));
    let count = 0;
    let bytes = 0;
    for (const { sha256, size } of doomed) {
      if (!(await locks.whileFree(sha256, () => store.deleteFile(sha256)))) continue;
      count += 1;
      bytes += size;
    }
    await store.sweepChunks(new Set(wanted.flatMap(({ chunks }) => chunks)));
    if (count === 0) return;
    const files = count === 1 ? "1 file" : `${String(count)} files`;
    logger.log("info", `removed ${files} from the store that no model needs: ${String(bytes)} bytes`);
  }

  return {
    request: () => {
      if (isStopped || cancelTimer !== undefined) return;
      cancelTimer = clock.after(SETTLE_NS, () => {
        cancelTimer = undefined;
        running = running.then(collect);
      });
    },
    stop: async () => {
      isStopped = true;
      cancelTimer?.();
      await running;
    },
  };
}
