import type { Clock } from "../ports.ts";

/** Rejects with the signal's reason as soon as it fires. */
export function sleep(clock: Clock, delayNs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      cancel();
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the reason is what the caller aborted with
      reject(signal.reason);
    };
    const cancel = clock.after(delayNs, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}
