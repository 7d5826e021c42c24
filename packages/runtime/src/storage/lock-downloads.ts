import type { DownloadLock } from "@naiad/core";
import type { LockManagerLike } from "@naiad/link";

/**
 * One download of the same content at a time across all tabs of the origin; the others wait and find it stored. A tab that
 * dies gives its lock back, and the next goes on with what it left.
 *
 * `locks` is `navigator.locks`, absent where the page is no secure context. Two tabs may then download the same file, which
 * is slow and not wrong.
 */
export function lockDownloads(locks: Pick<LockManagerLike, "request"> | undefined): DownloadLock {
  if (locks === undefined) return (_sha256, _signal, task) => task();
  return async (sha256, signal, task) => {
    await locks.request(`naiad:download:${sha256}`, { signal }, task);
  };
}
