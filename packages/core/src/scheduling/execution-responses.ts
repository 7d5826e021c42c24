import type { WireError } from "@naiad/protocol";
import { InferenceError, requestIdPrefix } from "@naiad/protocol";
import type {
  Clock,
  ExecuteContext,
  ExecutionTimes,
  InstanceOutcome,
  InstanceResponse,
  ResponseListener,
} from "../ports.ts";
import type { QueuedRequest } from "./queued-request.ts";
import type { RequestTimes } from "./scheduler.ts";
import type { BatchEntry, DecoupledEnd, WorkSource } from "./work-source.ts";

export interface ExecutionResponsesOptions {
  readonly entries: readonly BatchEntry[];
  readonly startNs: number;
  readonly clock: Clock;
  readonly source: WorkSource | undefined;
}

/**
 * What the decoupled requests of one execution are answered with, from its begin until the last of them has ended, which
 * may be long after the execution.
 */
export class ExecutionResponses implements ExecuteContext, ResponseListener {
  readonly #options: ExecutionResponsesOptions;
  /** Rows for which something may still come: all of them while it executes. */
  readonly #open: Map<number, QueuedRequest> = new Map();
  readonly #answered = new Set<BatchEntry>();
  #times: ExecutionTimes | undefined = undefined;
  #onClosed: (() => void) | undefined = undefined;

  constructor(options: ExecutionResponsesOptions) {
    this.#options = options;
    for (const [index, { request }] of options.entries.entries()) {
      if (request === undefined) continue;
      request.executionStartNs = options.startNs;
      this.#open.set(index, request);
    }
  }

  get responses(): ResponseListener {
    return this;
  }

  get signals(): readonly AbortSignal[] {
    return this.#options.entries.map(
      ({ request }) => request?.scheduled.signal ?? new AbortController().signal,
    );
  }

  response(
    index: number,
    response: InstanceResponse,
    { final }: { readonly final?: true } = {},
  ): Promise<void> {
    const request = this.#open.get(index);
    const { source, entries } = this.#options;
    const entry = entries[index];
    if (request === undefined || entry === undefined || source === undefined) return Promise.resolve();
    this.#answered.add(entry);
    const delivered = source.answers.respond(request, final === true ? { ...response, final } : response);
    if (final === true) this.#end(index, request, "with-response");
    return delivered;
  }

  end(index: number, error?: WireError): void {
    const request = this.#open.get(index);
    if (request === undefined) return;
    if (error === undefined) {
      this.#end(index, request, "alone");
      return;
    }
    this.#close(index);
    this.#options.source?.failed(request, new InferenceError(error.code, error.message));
  }

  /** Whether it has had a response of this very execution. */
  hasAnswered(entry: BatchEntry): boolean {
    return this.#answered.has(entry);
  }

  /** From now on only rows are open whose outcome is `decoupled`; `undefined` where there is none. */
  executed(outcomes: readonly InstanceOutcome[], times: ExecutionTimes): Promise<void> | undefined {
    this.#times = times;
    for (const index of [...this.#open.keys()]) {
      if (outcomes[index]?.kind !== "decoupled") this.#open.delete(index);
    }
    if (this.#open.size === 0) return undefined;
    return new Promise((resolve) => {
      this.#onClosed = resolve;
    });
  }

  /** The execution was lost: others decide what becomes of its requests. */
  abandon(): void {
    this.#open.clear();
  }

  /** Its instance was lost after the execution, and what was open with it. */
  lose(text: string): void {
    for (const [index, request] of [...this.#open]) {
      this.#close(index);
      const message = requestIdPrefix(request.scheduled.request.id) + text;
      this.#options.source?.failed(request, new InferenceError("UNAVAILABLE", message));
    }
  }

  #end(index: number, request: QueuedRequest, flag: DecoupledEnd["flag"]): void {
    this.#close(index);
    this.#options.source?.answers.end(request, { times: this.#timesOf(request), flag });
  }

  #close(index: number): void {
    this.#open.delete(index);
    if (this.#open.size === 0) this.#onClosed?.();
  }

  /** A request that ends before its execution does is charged what has passed until then. */
  #timesOf({ enqueueNs }: QueuedRequest): RequestTimes {
    const { startNs, clock } = this.#options;
    const times = this.#times ?? {
      computeInputNs: 0,
      computeInferNs: clock.nowNs() - startNs,
      computeOutputNs: 0,
    };
    return { queueNs: startNs - enqueueNs, ...times };
  }
}
