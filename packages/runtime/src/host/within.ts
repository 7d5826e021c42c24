import type { Clock } from "@naiad/core";

/**
 * The value of `promise`, or `undefined` when it rejects or has not settled after `limitMs`. For questions to the platform
 * that it may never answer and that cannot be taken back; what it answers later is dropped.
 */
export function within<Value>(
  clock: Clock,
  limitMs: number,
  promise: Promise<Value>,
): Promise<Value | undefined> {
  return new Promise((resolve) => {
    const cancel = clock.after(limitMs * 1e6, () => {
      resolve(undefined);
    });
    promise.then(
      (value) => {
        cancel();
        resolve(value);
      },
      () => {
        cancel();
        resolve(undefined);
      },
    );
  });
}
