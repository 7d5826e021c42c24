import { InferenceError } from "@naiad/protocol";
import type { Clock } from "../ports.ts";

/** A transfer ends with `end` or with `broken`, and with nothing after either. */
export type TransferItem =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "end" }
  | { readonly kind: "broken"; readonly error: InferenceError };

export interface TransferOptions {
  readonly open: (signal: AbortSignal) => AsyncIterable<Uint8Array>;
  readonly clock: Clock;
  /** Longest wait for the first or the next bytes. A limit on the whole would punish slow networks. */
  readonly idleLimitNs: number;
  readonly signal: AbortSignal;
}

/**
 * Reads a source and turns its failures into a last item, so that the reader can tell them from failures of its own.
 * Throws only the reason of `signal`.
 */
export async function* transfer(options: TransferOptions): AsyncGenerator<TransferItem, void, undefined> {
  const { clock, idleLimitNs, signal } = options;
  signal.throwIfAborted();
  const controller = new AbortController();
  const forwardAbort = (): void => {
    controller.abort(signal.reason);
  };
  signal.addEventListener("abort", forwardAbort, { once: true });
  const watchIdle = (): (() => void) =>
    clock.after(idleLimitNs, () => {
      controller.abort(
        new InferenceError("UNAVAILABLE", `no data for ${String(Math.round(idleLimitNs / 1e9))} seconds`),
      );
    });
  let stopWatching = watchIdle();
  try {
    const iterator = options.open(controller.signal)[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await nextOf(iterator, controller.signal);
        stopWatching();
        signal.throwIfAborted();
        yield next;
        if (next.kind !== "bytes") return;
        stopWatching = watchIdle();
      }
    } finally {
      // Not awaited: a source that hangs in its clean-up must not hold us.
      iterator.return?.().then(undefined, () => undefined);
    }
  } finally {
    stopWatching();
    signal.removeEventListener("abort", forwardAbort);
  }
}

/** Settles as soon as `abort` fires, even when the source does not listen to it. */
function nextOf(iterator: AsyncIterator<Uint8Array>, abort: AbortSignal): Promise<TransferItem> {
  return new Promise((resolve) => {
    const onAbort = (): void => {
      resolve({ kind: "broken", error: InferenceError.from(abort.reason) });
    };
    if (abort.aborted) {
      onAbort();
      return;
    }
    abort.addEventListener("abort", onAbort, { once: true });
    const settle = (item: TransferItem): void => {
      abort.removeEventListener("abort", onAbort);
      resolve(item);
    };
    iterator.next().then(
      (result) => {
        settle(result.done === true ? { kind: "end" } : { kind: "bytes", bytes: result.value });
      },
      (error: unknown) => {
        settle({ kind: "broken", error: InferenceError.from(error) });
      },
    );
  });
}
