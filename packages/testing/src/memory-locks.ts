import type { LockManagerLike } from "@naiad/link";

interface Request {
  readonly shared: boolean;
  readonly grant: () => void;
}

interface Lock {
  holders: number;
  isShared: boolean;
  readonly queue: Request[];
}

export interface MemoryLocks extends LockManagerLike {
  /** Names that are held now. */
  heldNames(): readonly string[];
}

/** Web Locks of one origin in memory: first come first served, shared requests together. Nobody dies here; let go instead. */
export function memoryLocks(): MemoryLocks {
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
      const lock = lockOf(name);
      const isTaken = lock.holders > 0 && !(lock.isShared && mode === "shared");
      if (ifAvailable && (isTaken || lock.queue.length > 0)) return granted(null);
      return new Promise((resolve, reject) => {
        const abort = (): void => {
          lock.queue.splice(lock.queue.indexOf(request), 1);
          reject(new DOMException("The request was aborted.", "AbortError"));
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
              });
          },
        };
        if (signal?.aborted === true) {
          reject(new DOMException("The request was aborted.", "AbortError"));
          return;
        }
        signal?.addEventListener("abort", abort, { once: true });
        lock.queue.push(request);
        advance(lock);
      });
    },
  };
}
