import { Code, ConnectError } from "@connectrpc/connect";
import { parseTimeout } from "@connectrpc/connect/protocol-grpc";
import type { StreamingExchangeRequest } from "@naiad/protocol";
import type { CallHeaders } from "./call-context.ts";

/** The signal of one call, which fires with the reason. */
export interface CallSignal {
  readonly signal: AbortSignal;
  fire(reason: ConnectError): void;
  /** The call is over: forgets the deadline and the client. Idempotent. */
  end(): void;
}

/** Milliseconds that the client gives the call, or `undefined` where it sets no deadline. Throws for what is no time. */
export function readTimeoutMs(headers: CallHeaders): number | undefined {
  const { timeoutMs, error } = parseTimeout(headers.get("grpc-timeout"), Number.MAX_SAFE_INTEGER);
  if (error !== undefined) throw error;
  return timeoutMs;
}

/** What no timer of a browser can wait for passes never. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** `gone` fires when the client leaves; with a timeout of nothing the signal has fired already. */
export function createCallSignal(gone: AbortSignal, timeoutMs: number | undefined): CallSignal {
  const controller = new AbortController();
  const leave = (): void => {
    controller.abort(gone.reason);
  };
  const expire = (): void => {
    controller.abort(new ConnectError("Deadline Exceeded", Code.DeadlineExceeded));
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  if (gone.aborted) leave();
  else if (timeoutMs !== undefined && timeoutMs <= 0) expire();
  else {
    gone.addEventListener("abort", leave, { once: true });
    if (timeoutMs !== undefined && timeoutMs <= LONGEST_TIMER_MS) timer = setTimeout(expire, timeoutMs);
  }
  return {
    signal: controller.signal,
    fire(reason) {
      controller.abort(reason);
    },
    end() {
      clearTimeout(timer);
      gone.removeEventListener("abort", leave);
    },
  };
}

/** A body until `signal` fires, which is then thrown, whatever the body waits for. One that is whole waits for nothing. */
export function untilAborted(
  body: StreamingExchangeRequest["body"],
  signal: AbortSignal,
): StreamingExchangeRequest["body"] {
  if (body instanceof Uint8Array) return body;
  const pieces = body[Symbol.asyncIterator]();
  const fired = new Promise<never>((_resolve, reject) => {
    const onAbort = (): void => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  // Heard by whoever waits then, which may be nobody.
  fired.catch(() => undefined);
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => Promise.race([pieces.next(), fired]),
      return: () => {
        // One that waits hears of it only when it goes on.
        void pieces.return?.().catch(() => undefined);
        return Promise.resolve({ done: true, value: undefined });
      },
    }),
  };
}
