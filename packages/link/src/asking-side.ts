import { InferenceError, invariant } from "@naiad/protocol";
import { cancelled } from "./cancelled.ts";
import type { Line } from "./line.ts";
import { pass } from "./line.ts";
import { StreamReader } from "./stream-reader.ts";
import type { CallOptions, StreamOptions } from "./types.ts";
import type { WireMessage } from "./wire.ts";

const DEFAULT_CREDITS = 16;

/** Whatever waits under an id: a call for its one answer, or a stream for its items and their end. */
export interface Pending {
  /** The answer of a call, or the regular end of a stream. */
  finish(value: unknown): void;
  fail(error: InferenceError): void;
  /** The asker itself wants no more of it. */
  abort(error: InferenceError): void;
  item(value: unknown): void;
}

interface Entry {
  readonly pending: Pending;
  /** Takes the abort listener off. */
  readonly unwatch: (() => void) | undefined;
}

/** Everything this end has asked for and still waits for. */
export class AskingSide {
  readonly #line: Line;
  readonly #entries = new Map<number, Entry>();
  #lastId = 0;
  #ended: InferenceError | undefined;

  constructor(line: Line) {
    this.#line = line;
  }

  call(name: string, input: unknown, options: CallOptions): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      const call: Pending = { finish: resolve, fail: reject, abort: reject, item: ignore };
      this.#ask(id, call, ["call", id, name, input], options);
    });
  }

  /** Sends the request at once. Where that fails the iterator ends with the error. */
  open(name: string, input: unknown, options: StreamOptions): AsyncIterator<unknown> {
    const { credits = DEFAULT_CREDITS } = options;
    invariant(credits >= 1, "a stream needs at least one credit");
    const id = ++this.#lastId;
    const reader = new StreamReader(credits, {
      credit: (count) => {
        if (this.#entries.has(id)) this.#line.post(["credit", id, count]);
      },
      cancel: () => {
        this.#cancel(id);
      },
    });
    this.#ask(id, reader, ["open", id, name, input, credits], options);
    return reader;
  }

  /** Throws where the note cannot be cloned. After the end it goes nowhere. */
  notify(name: string, note: unknown, transfer: readonly Transferable[] | undefined): void {
    let failure: InferenceError | undefined;
    const step = (): void => {
      if (this.#ended === undefined) this.#line.post(["note", name, note], transfer);
    };
    pass(this.#line, "channel.before-send", name, step, (thrown) => {
      failure = InferenceError.from(thrown);
    });
    if (failure !== undefined) throw failure;
  }

  finish(id: number, value: unknown): void {
    this.#take(id)?.finish(value);
  }

  fail(id: number, error: InferenceError): void {
    this.#take(id)?.fail(error);
  }

  item(id: number, value: unknown): void {
    this.#entries.get(id)?.pending.item(value);
  }

  /** Ends everything pending with `reason`, and everything asked from now on. */
  end(reason: InferenceError): void {
    this.#ended = reason;
    for (const id of [...this.#entries.keys()]) this.fail(id, reason);
  }

  #ask(id: number, pending: Pending, message: WireMessage, { signal, transfer }: CallOptions): void {
    const refusal = this.#ended ?? (signal?.aborted === true ? cancelled(signal.reason) : undefined);
    if (refusal !== undefined) {
      pending.fail(refusal);
      return;
    }
    this.#entries.set(id, { pending, unwatch: signal && this.#watch(id, signal) });
    const step = (): void => {
      if (this.#entries.has(id)) this.#line.post(message, transfer);
    };
    pass(this.#line, "channel.before-send", String(message[2]), step, (thrown) => {
      this.fail(id, InferenceError.from(thrown));
    });
  }

  #watch(id: number, signal: AbortSignal): () => void {
    const abort = (): void => {
      this.#cancel(id)?.abort(cancelled(signal.reason));
    };
    signal.addEventListener("abort", abort, { once: true });
    return () => {
      signal.removeEventListener("abort", abort);
    };
  }

  /** Tells the other side, unless the thing has ended already. */
  #cancel(id: number): Pending | undefined {
    const pending = this.#take(id);
    if (pending !== undefined) this.#line.post(["cancel", id]);
    return pending;
  }

  #take(id: number): Pending | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    this.#entries.delete(id);
    entry.unwatch?.();
    return entry.pending;
  }
}

function ignore(): void {
  // A call has no items.
}
