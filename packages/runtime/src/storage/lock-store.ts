import type { StoreLocks } from "@naiad/core";
import type { LockManagerLike } from "@naiad/link";

/** Locks between all hosts of the origin that keep their files in the store `storageName`. */
export function lockStore(locks: Pick<LockManagerLike, "request">, storageName: string): StoreLocks {
  const nameOf = (name: string): string => `naiad:store:${storageName}:${name}`;
  return {
    hold: (name, signal) =>
      new Promise((resolve, reject) => {
        const untilReleased = (): Promise<void> =>
          new Promise((release) => {
            resolve(release);
          });
        locks.request(nameOf(name), { mode: "shared", signal }, untilReleased).catch((thrown: unknown) => {
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the reason is what the caller aborted with
          reject(signal.aborted ? signal.reason : thrown);
        });
      }),
    async whileFree(name, task) {
      let isFree = false;
      await locks.request(nameOf(name), { ifAvailable: true }, async (lock) => {
        isFree = lock !== null;
        if (isFree) await task();
      });
      return isFree;
    },
  };
}
