import type { Clock } from "@naiad/core";

/** Rejects with the signal's reason when that comes first. */
export function wait(clock: Pick<Clock, "after">, delayNs: number, signal: AbortSignal): Promise<void> {
  return untilAborted(signal, (resolve) => clock.after(delayNs, resolve));
}

/** What `begin` resolves, or a rejection with the signal's reason; `begin` gives a way to take itself back. */
export function untilAborted(signal: AbortSignal, begin: (resolve: () => void) => () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const onAbort = (): void => {
      cancel();
      reject(reasonOf(signal));
    };
    const cancel = begin(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

function reasonOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : new Error(String(reason));
}
