import { InferenceError } from "@naiad/protocol";

/**
 * What `ask` comes to. When its signal fires because `limitMs` have passed: UNAVAILABLE with `refusal`, which names what is
 * waited for. For waits on others that may stand still (a debugger, a blocked thread) without being dead.
 */
export async function withinPatience<Value>(
  ask: (signal: AbortSignal) => Promise<Value>,
  options: {
    /** The caller's own. */
    readonly signal: AbortSignal;
    readonly limitMs: number;
    readonly refusal: () => string;
  },
): Promise<Value> {
  const { signal, limitMs, refusal } = options;
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort();
  }, limitMs);
  try {
    return await ask(AbortSignal.any([signal, late.signal]));
  } catch (cause) {
    if (signal.aborted || !late.signal.aborted) throw cause;
    throw new InferenceError("UNAVAILABLE", refusal(), { cause });
  } finally {
    clearTimeout(timer);
  }
}
