import { InferenceError } from "@naiad/protocol";
import { cancelled } from "./cancelled.ts";
import type { Line } from "./line.ts";
import { pass } from "./line.ts";
import { offered } from "./offered.ts";
import type { CallContext, Reply } from "./types.ts";

/** Handlers as the wire sees them: names and values are checked by nobody but the peer's compiler. */
export interface AnyHandlers {
  readonly calls: Readonly<Record<string, (input: unknown, context: CallContext) => Promise<Reply<unknown>>>>;
  readonly streams: Readonly<
    Record<string, (input: unknown, context: CallContext) => AsyncIterable<Reply<unknown>>>
  >;
  readonly notes: Readonly<Record<string, (note: unknown) => void>>;
}

/** Everything the other end has asked of this one and that runs now. */
export class AnsweringSide {
  readonly #line: Line;
  readonly #handlers: AnyHandlers;
  readonly #running = new Map<number, RunningRequest>();
  readonly #noteFailed: (thrown: unknown) => void;

  /** `noteFailed` hears what a note's handler threw: nobody waits for a note. */
  constructor(line: Line, handlers: AnyHandlers, noteFailed: (thrown: unknown) => void) {
    this.#line = line;
    this.#handlers = handlers;
    this.#noteFailed = noteFailed;
  }

  call(id: number, name: string, input: unknown): void {
    this.#start(id, name, 0, (request) => {
      const handler = offered(this.#handlers.calls, name);
      handler.call(this.#handlers.calls, input, request).then(
        (reply) => {
          this.#answer(id, name, reply);
        },
        (thrown: unknown) => {
          this.#fail(id, thrown);
        },
      );
    });
  }

  open(id: number, name: string, input: unknown, credits: number): void {
    this.#start(id, name, credits, (request) => {
      const handler = offered(this.#handlers.streams, name);
      const items = handler.call(this.#handlers.streams, input, request);
      this.#pump(id, name, request, items).catch((thrown: unknown) => {
        this.#fail(id, thrown);
      });
    });
  }

  note(name: string, note: unknown): void {
    const step = (): void => {
      offered(this.#handlers.notes, name).call(this.#handlers.notes, note);
    };
    pass(this.#line, "channel.before-handle", name, step, this.#noteFailed);
  }

  credit(id: number, count: number): void {
    this.#running.get(id)?.addCredits(count);
  }

  /** The handler's signal fires; whatever it still answers is dropped. */
  cancel(id: number): void {
    const request = this.#running.get(id);
    this.#running.delete(id);
    request?.cancel(cancelled());
  }

  end(reason: InferenceError): void {
    const requests = [...this.#running.values()];
    this.#running.clear();
    for (const request of requests) request.cancel(reason);
  }

  #start(id: number, name: string, credits: number, run: (request: RunningRequest) => void): void {
    const request = new RunningRequest(credits);
    this.#running.set(id, request);
    const step = (): void => {
      if (!request.isCancelled) run(request);
    };
    pass(this.#line, "channel.before-handle", name, step, (thrown) => {
      this.#fail(id, thrown);
    });
  }

  #answer(id: number, name: string, reply: Reply<unknown>): void {
    const step = (): void => {
      if (!this.#running.has(id)) return;
      this.#line.post(["answer", id, reply.value], reply.transfer);
      this.#running.delete(id);
    };
    pass(this.#line, "channel.before-reply", name, step, (thrown) => {
      this.#fail(id, thrown);
    });
  }

  /** Never takes an item from the handler that it may not send yet. */
  async #pump(
    id: number,
    name: string,
    request: RunningRequest,
    items: AsyncIterable<Reply<unknown>>,
  ): Promise<void> {
    for await (const { value, transfer } of items) {
      await this.#line.hold("channel.before-reply", name);
      if (!this.#running.has(id)) return;
      this.#line.post(["item", id, value], transfer);
      if (!(await request.spendCredit())) return;
    }
    if (this.#running.delete(id)) this.#line.post(["end", id]);
  }

  #fail(id: number, thrown: unknown): void {
    if (!this.#running.delete(id)) return;
    const { code, message, retryAfterSecs } = InferenceError.from(thrown);
    const wait: [] | [number] = retryAfterSecs === undefined ? [] : [retryAfterSecs];
    this.#line.post(["fail", id, code, message, ...wait]);
  }
}

/** One request on this side. Its abort signal is made on demand: most handlers of small calls never look at it. */
class RunningRequest implements CallContext {
  #controller: AbortController | undefined;
  #cancelled: InferenceError | undefined;
  #credits: number;
  #wake: (() => void) | undefined;

  constructor(credits: number) {
    this.#credits = credits;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#cancelled !== undefined) this.#controller.abort(this.#cancelled);
    }
    return this.#controller.signal;
  }

  get isCancelled(): boolean {
    return this.#cancelled !== undefined;
  }

  cancel(reason: InferenceError): void {
    this.#cancelled = reason;
    this.#controller?.abort(reason);
    this.#wake?.();
  }

  addCredits(count: number): void {
    this.#credits += count;
    this.#wake?.();
  }

  /** Takes one and, where none is left, waits for more. `false` after a cancel. */
  async spendCredit(): Promise<boolean> {
    this.#credits -= 1;
    if (this.#credits === 0 && !this.isCancelled) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return !this.isCancelled;
  }
}
