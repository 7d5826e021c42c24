import type { InferenceError } from "@naiad/protocol";
import type { Pending } from "./asking-side.ts";

/** What a reader tells the sending side. */
export interface ReaderPort {
  /** So many more items may come. */
  credit(count: number): void;
  /** No more are wanted. */
  cancel(): void;
}

interface Waiter {
  readonly resolve: (result: IteratorResult<unknown, undefined>) => void;
  readonly reject: (error: InferenceError) => void;
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };

/**
 * The receiving end of one stream. Items that came before an error or a loss are still given out before it; after an
 * abort nothing is.
 */
export class StreamReader implements AsyncIterator<unknown, undefined>, Pending {
  readonly #port: ReaderPort;
  /** Credits go back in halves: a message for each item would double the traffic. */
  readonly #creditEvery: number;
  readonly #items: unknown[] = [];
  readonly #waiters: Waiter[] = [];
  #read = 0;
  #end: { readonly error: InferenceError | undefined } | undefined;

  constructor(credits: number, port: ReaderPort) {
    this.#port = port;
    this.#creditEvery = Math.max(1, credits >> 1);
  }

  next(): Promise<IteratorResult<unknown, undefined>> {
    if (this.#items.length > 0) {
      const value = this.#items.shift();
      this.#consumed();
      return Promise.resolve({ done: false, value });
    }
    if (this.#end === undefined) {
      return new Promise((resolve, reject) => {
        this.#waiters.push({ resolve, reject });
      });
    }
    const { error } = this.#end;
    this.#end = { error: undefined };
    return error === undefined ? Promise.resolve(DONE) : Promise.reject(error);
  }

  /** Called when a loop is left early. */
  return(): Promise<IteratorResult<unknown, undefined>> {
    this.#items.length = 0;
    this.#end = { error: undefined };
    this.finish();
    this.#port.cancel();
    return Promise.resolve(DONE);
  }

  item(value: unknown): void {
    const waiter = this.#waiters.shift();
    if (waiter === undefined) {
      this.#items.push(value);
    } else {
      this.#consumed();
      waiter.resolve({ done: false, value });
    }
  }

  finish(): void {
    this.#end ??= { error: undefined };
    for (const waiter of this.#waiters.splice(0)) waiter.resolve(DONE);
  }

  fail(error: InferenceError): void {
    if (this.#end !== undefined) return;
    const first = this.#waiters.shift();
    this.#end = { error: first === undefined ? error : undefined };
    first?.reject(error);
    for (const waiter of this.#waiters.splice(0)) waiter.resolve(DONE);
  }

  abort(error: InferenceError): void {
    this.#items.length = 0;
    this.fail(error);
  }

  #consumed(): void {
    if (++this.#read < this.#creditEvery) return;
    this.#port.credit(this.#read);
    this.#read = 0;
  }
}
