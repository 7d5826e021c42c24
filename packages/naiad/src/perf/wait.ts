import type { Clock } from "@naiad/core";
import { InferenceError } from "@naiad/protocol";

/** Of questions that are no inferences. A server that is busy with a model still answers them. */
const ANSWER_LIMIT_NS = 60e9;

/** What the server answers, or a rejection with the signal's reason, or with UNAVAILABLE where it takes longer than a minute. */
export async function answered<Value>(
  answer: Promise<Value>,
  { clock, signal }: { readonly clock: Pick<Clock, "after">; readonly signal: AbortSignal },
): Promise<Value> {
  const settled = new AbortController();
  const limit = wait(clock, ANSWER_LIMIT_NS, AbortSignal.any([signal, settled.signal])).then(() => {
    const seconds = ANSWER_LIMIT_NS / 1e9;
    throw new InferenceError("UNAVAILABLE", `the server has not answered within ${seconds} seconds`);
  });
  try {
    return await Promise.race([answer, limit]);
  } finally {
    settled.abort();
  }
}

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
