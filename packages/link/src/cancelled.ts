import { InferenceError } from "@naiad/protocol";

/** What a call ends with when its own signal fires; `cause` is the signal's reason. */
export function cancelled(cause?: unknown): InferenceError {
  return new InferenceError("CANCELLED", "request was cancelled", { cause });
}
