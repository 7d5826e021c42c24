import type { LockManagerLike } from "@naiad/link";

/**
 * The platform's locks. Without a secure context there are none: then every lock is granted at once to its holder and
 * nobody is ever told of a death; such a page has no service worker and no second tab on its host either.
 */
export function platformLocks(scope: { readonly locks?: LockManagerLike | undefined }): LockManagerLike {
  return scope.locks ?? NO_LOCKS;
}

/** Whether these keep anybody from anything. */
export function hasLocks(locks: LockManagerLike): boolean {
  return locks !== NO_LOCKS;
}

const NO_LOCKS: LockManagerLike = {
  request(_name, { mode, signal }, granted) {
    if (mode !== "shared") return granted({});
    return new Promise((_resolve, reject) => {
      const abort = (): void => {
        reject(new DOMException("the wait was called off", "AbortError"));
      };
      if (signal?.aborted === true) abort();
      else signal?.addEventListener("abort", abort, { once: true });
    });
  },
  query: () => Promise.resolve({ held: [] }),
};
