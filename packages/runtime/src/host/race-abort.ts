import { InferenceError } from "@naiad/protocol";

/** The result of `promise`, or CANCELLED as soon as `signal` fires. Work that does not listen to the signal goes on unheard. */
export function raceAbort<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const cancelled = (): void => {
      reject(new InferenceError("CANCELLED", "request was cancelled", { cause: signal.reason }));
    };
    if (signal.aborted) cancelled();
    else signal.addEventListener("abort", cancelled, { once: true });
    promise.then(resolve, reject).finally(() => {
      signal.removeEventListener("abort", cancelled);
    });
  });
}
