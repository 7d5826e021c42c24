import type { LockManagerLike } from "./liveness.ts";

interface Request {
  readonly shared: boolean;
  readonly grant: () => void;
}

interface Lock {
  holders: number;
  isShared: boolean;
  readonly queue: Request[];
}

export interface LocalLocks extends LockManagerLike {
  /** Names that are held now. */
  heldNames(): readonly string[];
}

/**
 * Web Locks of one place in memory, for where the platform has none: first come first served, shared requests together. Nobody
 * dies here: whoever learns of the end of a holder lets go for it.
 */
export function createLocalLocks(): LocalLocks {
  const locks = new Map<string, Lock>();

  function lockOf(name: string): Lock {
    let lock = locks.get(name);
    if (lock === undefined) locks.set(name, (lock = { holders: 0, isShared: false, queue: [] }));
    return lock;
  }

  function advance(lock: Lock): void {
    for (;;) {
      const next = lock.queue[0];
      if (next === undefined || (lock.holders > 0 && !(lock.isShared && next.shared))) return;
      lock.queue.shift();
      lock.holders += 1;
      lock.isShared = next.shared;
      next.grant();
    }
  }

  function heldNames(): string[] {
    return [...locks].filter(([, lock]) => lock.holders > 0).map(([name]) => name);
  }

  return {
    heldNames,
    query: () => Promise.resolve({ held: heldNames().map((name) => ({ name })) }),
    request(name, { mode = "exclusive", ifAvailable = false, signal }, granted) {
      if (signal?.aborted === true) return Promise.reject(aborted());
      const lock = lockOf(name);
      const isTaken = lock.holders > 0 && !(lock.isShared && mode === "shared");
      if (ifAvailable && (isTaken || lock.queue.length > 0)) return granted(null);
      return new Promise((resolve, reject) => {
        const abort = (): void => {
          lock.queue.splice(lock.queue.indexOf(request), 1);
          advance(lock);
          reject(aborted());
        };
        const request: Request = {
          shared: mode === "shared",
          grant() {
            signal?.removeEventListener("abort", abort);
            granted(lock)
              .then(resolve, reject)
              .finally(() => {
                lock.holders -= 1;
                advance(lock);
                if (lock.holders === 0) locks.delete(name);
              });
          },
        };
        signal?.addEventListener("abort", abort, { once: true });
        lock.queue.push(request);
        advance(lock);
      });
    },
  };
}

function aborted(): DOMException {
  return new DOMException("The request was aborted.", "AbortError");
}
