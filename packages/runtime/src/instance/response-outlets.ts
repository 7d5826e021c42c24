import type { ExecuteContext, InstanceOutcome, InstanceResponse, ResponseListener } from "@naiad/core";
import type { Channel } from "@naiad/link";
import type { WireError } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { ExecutedRequest, InstanceHostContract } from "../contracts.ts";
import { RESPONSE_CREDITS } from "../contracts.ts";
import { ownBuffers } from "./output-buffers.ts";

/** The worker's way out for the responses of decoupled requests. */
export interface ResponseOutlets {
  /** What an execution of so many requests is given; open until `executed`, and longer where requests are decoupled. */
  open(executionId: number, requestCount: number): ExecuteContext;
  /**
   * From now on only those of its requests are open whose outcome is `decoupled`; none if it failed as a whole. Resolves
   * when everything that the others were given is on its way.
   */
  executed(executionId: number, outcomes: readonly InstanceOutcome[]): Promise<void>;
  credit(note: ExecutedRequest & { readonly count: number }): void;
  cancel(note: ExecutedRequest): void;
  /** The host is gone. */
  close(reason: InferenceError): void;
}

export function createResponseOutlets(
  host: () => Pick<Channel<InstanceHostContract>, "notify">,
): ResponseOutlets {
  const executions = new Map<number, Map<number, RequestOutlet>>();

  function outlet({ executionId, index }: ExecutedRequest): RequestOutlet | undefined {
    return executions.get(executionId)?.get(index);
  }

  function forget(request: ExecutedRequest): void {
    const open = executions.get(request.executionId);
    open?.delete(request.index);
    if (open?.size === 0) executions.delete(request.executionId);
  }

  return {
    open(executionId, requestCount) {
      const outlets = Array.from({ length: requestCount }, (_, index) => {
        const request = { executionId, index };
        return new RequestOutlet(request, host, () => {
          forget(request);
        });
      });
      executions.set(executionId, new Map(outlets.entries()));
      const responses: ResponseListener = {
        response: (index, response, flags = {}) =>
          outlet({ executionId, index })?.response(response, flags.final === true) ?? Promise.resolve(),
        end: (index, error) => outlet({ executionId, index })?.end(error),
      };
      return { responses, signals: outlets.map(({ signal }) => signal) };
    },
    async executed(executionId, outcomes) {
      const over = [...(executions.get(executionId) ?? [])].filter(
        ([index]) => outcomes[index]?.kind !== "decoupled",
      );
      await Promise.all(over.map(([, request]) => request.finish()));
    },
    credit: (note) => outlet(note)?.credit(note.count),
    cancel: (note) => outlet(note)?.cancel(),
    close(reason) {
      for (const outlets of executions.values()) for (const request of outlets.values()) request.lose(reason);
    },
  };
}

type Message =
  | { readonly kind: "response"; readonly response: InstanceResponse; readonly final: boolean }
  | { readonly kind: "end"; readonly error: WireError | undefined };

/** One request's responses: as many on their way as there are credits, the others wait here in order. */
class RequestOutlet {
  readonly #request: ExecutedRequest;
  readonly #host: () => Pick<Channel<InstanceHostContract>, "notify">;
  readonly #forget: () => void;
  readonly #cancelled = new AbortController();
  readonly #waiting: Message[] = [];
  #held: (() => void)[] = [];
  #credits = RESPONSE_CREDITS;
  /** The model has said its last. */
  #hasEnded = false;
  /** It is over with its execution. */
  #isFinishing = false;
  #onClosed: () => void = () => undefined;

  constructor(
    request: ExecutedRequest,
    host: () => Pick<Channel<InstanceHostContract>, "notify">,
    forget: () => void,
  ) {
    this.#request = request;
    this.#host = host;
    this.#forget = forget;
  }

  get signal(): AbortSignal {
    return this.#cancelled.signal;
  }

  response(response: InstanceResponse, final: boolean): Promise<void> {
    if (this.#hasEnded) return Promise.resolve();
    this.#hasEnded = final;
    if (!this.signal.aborted) this.#waiting.push({ kind: "response", response, final });
    else if (final) this.#waiting.push({ kind: "end", error: undefined });
    this.#send();
    if (this.#mayGoOn()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#held.push(resolve);
    });
  }

  end(error: WireError | undefined): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#waiting.push({ kind: "end", error });
    this.#send();
  }

  credit(count: number): void {
    this.#credits += count;
    this.#send();
    this.#letOn();
  }

  cancel(): void {
    if (this.signal.aborted) return;
    const wasEnded = this.#hasEnded && !this.#isFinishing;
    this.#waiting.length = 0;
    this.#cancelled.abort(new InferenceError("CANCELLED", "request was cancelled"));
    // What it had said last is among what was dropped.
    if (wasEnded) this.#waiting.push({ kind: "end", error: undefined });
    this.#send();
    this.#letOn();
  }

  /** Nothing more is told of it, its end neither. Resolves when all that was said before is on its way. */
  finish(): Promise<void> {
    this.#hasEnded = true;
    this.#isFinishing = true;
    return new Promise((resolve) => {
      this.#onClosed = resolve;
      this.#send();
    });
  }

  /** Nothing more of it is wanted, nor told. */
  close(): void {
    this.#hasEnded = true;
    this.#waiting.length = 0;
    this.#forget();
    this.#letOn();
    this.#onClosed();
  }

  lose(reason: InferenceError): void {
    this.close();
    this.#cancelled.abort(reason);
  }

  #mayGoOn(): boolean {
    return this.#hasEnded || this.signal.aborted || (this.#credits > 0 && this.#waiting.length === 0);
  }

  #letOn(): void {
    if (!this.#mayGoOn()) return;
    const held = this.#held;
    this.#held = [];
    for (const goOn of held) goOn();
  }

  #send(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (next.kind === "response" && this.#credits === 0) return;
      this.#waiting.shift();
      try {
        this.#post(next);
      } catch (thrown) {
        this.#host().notify("end", { ...this.#request, error: InferenceError.from(thrown).toWire() });
        this.close();
        return;
      }
      if (next.kind === "end" || next.final) this.close();
      else this.#credits -= 1;
    }
    if (this.#isFinishing) this.close();
  }

  #post(message: Message): void {
    const host = this.#host();
    if (message.kind === "end") {
      const { error } = message;
      host.notify("end", { ...this.#request, ...(error !== undefined && { error }) });
      return;
    }
    const { response, final } = message;
    const transfer = response.kind === "response" ? ownBuffers(response.outputs) : [];
    host.notify("response", { ...this.#request, response, final }, { transfer });
  }
}
