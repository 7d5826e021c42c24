/**
 * Gives each of many tasks a signal of its own; all of them fire together. However many tasks there are, nobody's signal
 * collects their listeners, of which platforms warn as of a leak.
 */
export interface SignalFan {
  readonly aborted: boolean;
  throwIfAborted(): void;
  /** Runs `task` with a signal that fires when the fan is aborted, or has fired already. */
  run<Result>(task: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  /** Idempotent: the first reason counts. */
  abort(reason: unknown): void;
}

export function createSignalFan(): SignalFan {
  const whole = new AbortController();
  const running = new Set<AbortController>();
  return {
    get aborted() {
      return whole.signal.aborted;
    },
    throwIfAborted: () => {
      whole.signal.throwIfAborted();
    },
    run: async (task) => {
      const own = new AbortController();
      if (whole.signal.aborted) own.abort(whole.signal.reason);
      running.add(own);
      try {
        return await task(own.signal);
      } finally {
        running.delete(own);
      }
    },
    abort: (reason) => {
      if (whole.signal.aborted) return;
      whole.abort(reason);
      for (const own of running) own.abort(reason);
    },
  };
}

/** Runs `work` with a fan that is aborted when `parent` fires; it listens there once, until `work` has ended. */
export async function withSignalFan<Result>(
  parent: AbortSignal,
  work: (fan: SignalFan) => Promise<Result>,
): Promise<Result> {
  const fan = createSignalFan();
  const abort = (): void => {
    fan.abort(parent.reason);
  };
  if (parent.aborted) abort();
  parent.addEventListener("abort", abort, { once: true });
  try {
    return await work(fan);
  } finally {
    parent.removeEventListener("abort", abort);
  }
}
