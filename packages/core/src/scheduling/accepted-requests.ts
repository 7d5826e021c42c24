import type { WireError } from "@naiad/protocol";
import { InferenceError, requestIdPrefix } from "@naiad/protocol";
import type { Clock, DeviceMemory, ExecutionTimes, InstanceOutcome, Logger } from "../ports.ts";
import type { ModelStatisticsRecorder } from "../statistics/model-statistics.ts";
import { disposeTensors } from "./counted-device-memory.ts";
import { deliver, deliverResponse } from "./deliver.ts";
import { OrderedAnswers } from "./ordered-answers.ts";
import type { QueuedRequest } from "./queued-request.ts";
import type { FailureReason, RequestOutcome, ScheduledRequest, StreamedResponse } from "./scheduler.ts";
import type { CompletedExecution, DecoupledEnd, DecoupledResponse, WorkAnswers } from "./work-source.ts";

export interface AcceptedRequestsOptions {
  readonly modelName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly statistics: ModelStatisticsRecorder;
  /** `acceptance`: answers leave in the order of `add`; `dispatch`: those of each instance in the order of `dispatched`. */
  readonly ordering: "none" | "acceptance" | "dispatch";
  /** Called when a request was cancelled, after its answer: it must not be executed any more. */
  readonly onCancelled: (request: QueuedRequest) => void;
}

/**
 * The requests that a scheduler has taken over: sees that each is answered exactly once, at once when it is cancelled,
 * and that statistics are told. A request that is cancelled while it executes is answered too; its result is dropped.
 */
export class AcceptedRequests implements WorkAnswers {
  readonly #options: AcceptedRequestsOptions;
  /** By instance where answers are ordered from dispatch, else one of no name. */
  readonly #lines = new Map<string, OrderedAnswers<QueuedRequest>>();
  readonly #whenDrained: (() => void)[] = [];
  #inflightCount = 0;
  #stopped = false;

  constructor(options: AcceptedRequestsOptions) {
    this.#options = options;
  }

  get inflightCount(): number {
    return this.#inflightCount;
  }

  /** Throws when the scheduler was stopped or nobody waits for the answer any more. */
  assertAcceptable({ request, signal }: ScheduledRequest): void {
    if (this.#stopped) throw schedulerStopped(request.id);
    if (signal.aborted) throw cancelled(request.id);
  }

  get isStopped(): boolean {
    return this.#stopped;
  }

  /** From here on the request will be answered. */
  add(request: QueuedRequest): void {
    this.#inflightCount += 1;
    const { trace } = request.scheduled;
    trace?.queued(request.enqueueNs, request.scheduled.request.inputs);
    request.beginPending(this.#options.statistics.pending);
    if (this.#options.ordering === "acceptance") this.#expect(request, "");
    const onAbort = (): void => {
      request.cancelledNs = this.#options.clock.nowNs();
      this.fail(request, cancelled(request.scheduled.request.id), "CANCELED");
      this.#options.onCancelled(request);
    };
    request.onAbort = onAbort;
    request.scheduled.signal.addEventListener("abort", onAbort);
  }

  /** The instance of this name is to execute it. Where that decides the order, the first time counts. */
  dispatched(request: QueuedRequest, instanceName: string): void {
    if (this.#options.ordering === "dispatch") this.#expect(request, instanceName);
  }

  /** Answers at once. */
  fail(request: QueuedRequest, error: InferenceError, reason: FailureReason): void {
    if (request.answered) {
      this.#cleanedUp(request);
      return;
    }
    this.#answerWithError(request, error, reason);
    request.line?.giveUp(request);
  }

  /** Answers in the request's turn where answers are ordered, else at once. */
  failInTurn(request: QueuedRequest, error: InferenceError, reason: FailureReason): void {
    if (request.answered) {
      this.#cleanedUp(request);
      return;
    }
    this.#inTurn(request, () => {
      this.#answerWithError(request, error, reason);
    });
  }

  complete(execution: CompletedExecution): void {
    const { entries, outcomes, deviceMemory, times, startNs } = execution;
    const { statistics } = this.#options;
    let rows = 0;
    for (const { executed } of entries) rows += Math.max(1, executed.batchSize);
    const charged = { startNs, times, rows, deviceMemory };
    if (outcomes.some((outcome) => outcome.kind !== "error")) statistics.executed({ rows, times });
    if (execution.isRetry) statistics.limited("retry");

    for (const [index, { request }] of entries.entries()) {
      if (request === undefined) continue;
      const outcome = outcomes[index] ?? missingOutcome(this.#options.modelName, execution);
      if (outcome.kind === "decoupled") continue;
      const dispose = (): void => {
        if ("outputs" in outcome) disposeTensors(outcome.outputs, deviceMemory);
      };
      if (request.answered) {
        dispose();
        continue;
      }
      request.disposeAnswer = dispose;
      request.scheduled.trace?.computed(startNs, times);
      this.#inTurn(request, () => {
        this.#answerWithOutcome(request, outcome, charged);
      });
    }
  }

  respond(request: QueuedRequest, response: DecoupledResponse): Promise<void> {
    if (request.answered) return Promise.resolve();
    const outcome = streamed(response);
    const computeInferNs = this.#lapse(request);
    const { line } = request;
    if (line === undefined) return this.#streamResponse(request, outcome, computeInferNs);
    return new Promise((resolve) => {
      line.during(request, () => {
        resolve(this.#streamResponse(request, outcome, computeInferNs));
      });
    });
  }

  end(request: QueuedRequest, { times, flag }: DecoupledEnd): void {
    if (request.answered) {
      this.#cleanedUp(request);
      return;
    }
    const { statistics } = this.#options;
    const durationNs = this.#lapse(request);
    request.scheduled.trace?.computed(request.enqueueNs + times.queueNs, times);
    this.#inTurn(request, () => {
      const index = request.responseCount;
      if (flag === "alone") statistics.streamed({ kind: "empty_response", index, durationNs });
      statistics.succeeded({ rows: request.rows, durationNs: this.#age(request), times, responses: index });
      this.#answer(request, { kind: "end", times });
    });
  }

  /** Resolves when every request is answered; accepts no more. */
  stop(): Promise<void> {
    this.#stopped = true;
    if (this.#inflightCount === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenDrained.push(resolve);
    });
  }

  #expect(request: QueuedRequest, lineName: string): void {
    if (request.line !== undefined) return;
    const line = this.#lines.get(lineName) ?? new OrderedAnswers();
    this.#lines.set(lineName, line);
    line.expect(request);
    request.line = line;
  }

  #inTurn(request: QueuedRequest, answer: () => void): void {
    if (request.line === undefined) answer();
    else request.line.settle(request, answer);
  }

  #answerWithOutcome(
    request: QueuedRequest,
    outcome: Exclude<InstanceOutcome, { readonly kind: "decoupled" }>,
    execution: ChargedExecution,
  ): void {
    if (outcome.kind !== "response") {
      const { code, message } = outcome.kind === "error" ? outcome.error : NOT_ITERATIVE;
      this.#answerWithError(request, new InferenceError(code, message), "BACKEND");
      return;
    }
    const times = { queueNs: execution.startNs - request.enqueueNs, ...execution.times };
    const { rows, responseCount: responses } = request;
    const { deviceMemory } = execution;
    request.disposeAnswer = undefined;
    this.#options.statistics.succeeded({ rows, durationNs: this.#age(request), times, responses });
    this.#answer(request, {
      kind: "response",
      outputs: outcome.outputs,
      parameters: outcome.parameters,
      ...(deviceMemory !== undefined && { deviceMemory }),
      times,
      executedBatchSize: execution.rows,
    });
  }

  #answerWithError(request: QueuedRequest, error: InferenceError, reason: FailureReason): void {
    const { responseCount: responses } = request;
    this.#options.statistics.failed({ reason, durationNs: this.#age(request), responses });
    this.#answer(request, { kind: "error", error, reason });
  }

  #streamResponse(request: QueuedRequest, response: StreamedResponse, computeInferNs: number): Promise<void> {
    if (request.answered) return Promise.resolve();
    const { clock, statistics } = this.#options;
    if (request.scheduled.onResponse === undefined) {
      this.fail(request, new InferenceError("INTERNAL", NOT_DECOUPLED), "BACKEND");
      return Promise.resolve();
    }
    const startNs = clock.nowNs();
    const index = request.responseCount;
    if (index === 0) statistics.firstResponse(this.#age(request));
    request.responseCount += 1;
    const room = deliverResponse(response, request.scheduled, this.#options);
    statistics.streamed({
      kind: response.kind === "response" ? "success" : "fail",
      index,
      computeInferNs,
      computeOutputNs: clock.nowNs() - startNs,
    });
    return room.then(() => {
      request.respondedNs = clock.nowNs();
    });
  }

  /** Nobody waited any more, and now the model does nothing for it any more either. */
  #cleanedUp(request: QueuedRequest): void {
    const { cancelledNs, responseCount: index } = request;
    if (cancelledNs === undefined) return;
    request.cancelledNs = undefined;
    const { statistics, clock } = this.#options;
    statistics.streamed({ kind: "cancel", index, durationNs: clock.nowNs() - cancelledNs });
  }

  /** Since there was something to do for its next response. */
  #lapse({ respondedNs, executionStartNs }: QueuedRequest): number {
    return this.#options.clock.nowNs() - Math.max(respondedNs, executionStartNs);
  }

  #age(request: QueuedRequest): number {
    return this.#options.clock.nowNs() - request.scheduled.startNs;
  }

  #answer(request: QueuedRequest, outcome: RequestOutcome): void {
    request.answered = true;
    request.disposeAnswer?.();
    request.endPending();
    this.#inflightCount -= 1;
    if (request.onAbort !== undefined) {
      request.scheduled.signal.removeEventListener("abort", request.onAbort);
      request.onAbort = undefined;
    }
    deliver(outcome, request.scheduled, this.#options);
    if (this.#inflightCount === 0) for (const resolve of this.#whenDrained.splice(0)) resolve();
  }
}

interface ChargedExecution {
  readonly startNs: number;
  readonly times: ExecutionTimes;
  readonly rows: number;
  readonly deviceMemory: DeviceMemory | undefined;
}

/** What a request is told that comes after the scheduler was stopped. */
export function schedulerStopped(requestId: string): InferenceError {
  return new InferenceError(
    "UNAVAILABLE",
    `${requestIdPrefix(requestId)}Server is stopping, scheduler for model has stopped accepting new inference requests`,
  );
}

/** What a request is told that nobody waits for any more. */
export function cancelled(requestId: string): InferenceError {
  return new InferenceError("CANCELLED", `${requestIdPrefix(requestId)}request was cancelled`);
}

const NOT_ITERATIVE: WireError = {
  code: "INTERNAL",
  message: "only a model with 'iterative_sequence' can have a request executed again",
};

const NOT_DECOUPLED =
  "the model gave several responses although 'model_transaction_policy' does not say that it is decoupled";

function streamed(response: DecoupledResponse): StreamedResponse {
  if (response.kind === "response") return response;
  const { error, final } = response;
  return { kind: "error", error: new InferenceError(error.code, error.message), ...(final && { final }) };
}

function missingOutcome(
  modelName: string,
  execution: CompletedExecution,
): Extract<InstanceOutcome, { readonly kind: "error" }> {
  const message = `an instance of model '${modelName}' answered ${execution.outcomes.length} of ${execution.entries.length} requests`;
  return { kind: "error", error: { code: "INTERNAL", message } };
}
