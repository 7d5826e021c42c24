import type { Clock } from "@naiad/core";
import { InferenceError } from "@naiad/protocol";

/** Resolves when so much time of the clock has passed; rejects with CANCELLED on an abort. */
export function sleep(clock: Clock, durationNs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancelled = (): InferenceError => new InferenceError("CANCELLED", "the fake backend was aborted");
    if (signal?.aborted === true) {
      reject(cancelled());
      return;
    }
    if (durationNs === 0) {
      resolve();
      return;
    }
    const onAbort = (): void => {
      cancel();
      reject(cancelled());
    };
    const cancel = clock.after(durationNs, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort);
  });
}
