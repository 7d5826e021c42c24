import { InferenceError } from "@naiad/protocol";

/** The promise, or CANCELLED as soon as the signal fires. */
export function unlessAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal | undefined,
): Promise<Value> {
  if (signal === undefined) return promise;
  return new Promise<Value>((resolve, reject) => {
    const abort = (): void => {
      reject(new InferenceError("CANCELLED", "request was cancelled", { cause: signal.reason }));
    };
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener("abort", abort, { once: true });
    void promise.then(resolve, reject).finally(() => {
      signal.removeEventListener("abort", abort);
    });
  });
}
