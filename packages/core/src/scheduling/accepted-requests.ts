import { InferenceError, requestIdPrefix } from "@naiad/protocol";
import type { Clock, ExecutionTimes, InstanceOutcome, Logger } from "../ports.ts";

import type { ModelStatisticsRecorder } from "../statistics/model-statistics.ts";
import type { CompletedExecution } from "./work-source.ts";
import { OrderedAnswers } from "./ordered-answers.ts";
import type { QueuedRequest } from "./queued-request.ts";
import type { FailureReason, RequestOutcome, ScheduledRequest } from "./scheduler.ts";

export interface AcceptedRequestsOptions {
  readonly modelName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly statistics: ModelStatisticsRecorder;
  readonly preserveOrdering: boolean;
  /** Called when a request was cancelled, after its answer: it must not be executed any more. */
  readonly onCancelled: (request: QueuedRequest) => void;
}

/**
 * The requests that a scheduler has taken over: sees that each is answered exactly once, at once when it is cancelled,
 * and that statistics are told. A request that is cancelled while it executes is answered too; its result is dropped.
 */
export class AcceptedRequests {
  readonly #options: AcceptedRequestsOptions;
  readonly #ordered: OrderedAnswers | undefined;
  readonly #whenDrained: (() => void)[] = [];
  #inflightCount = 0;
  #stopped = false;

  constructor(options: AcceptedRequestsOptions) {
    this.#options = options;
    this.#ordered = options.preserveOrdering ? new OrderedAnswers() : undefined;
  }

  get inflightCount(): number {
    return this.#inflightCount;
  }

  /** Throws when the scheduler was stopped or nobody waits for the answer any more. */
  assertAcceptable({ request, signal }: ScheduledRequest): void {
    if (this.#stopped) {
      throw new InferenceError(
        "UNAVAILABLE",
        `${requestIdPrefix(request.id)}Server is stopping, scheduler for model has stopped accepting new inference requests`,
      );
    }
    if (signal.aborted) throw cancelled(request.id);
  }

  /** From here on the request will be answered. */
  add(request: QueuedRequest): void {
    this.#inflightCount += 1;
    this.#ordered?.expect(request);
    const onAbort = (): void => {
      this.fail(request, cancelled(request.scheduled.request.id), "CANCELED");
      this.#options.onCancelled(request);
    };
    request.onAbort = onAbort;
    request.scheduled.signal.addEventListener("abort", onAbort);
  }

  /** Answers at once. */
  fail(request: QueuedRequest, error: InferenceError, reason: FailureReason): void {
    if (request.answered) return;
    this.#fail(request, error, reason);
    this.#ordered?.giveUp(request);
  }

  complete(execution: CompletedExecution): void {
    const { requests, outcomes, times, startNs } = execution;
    const { statistics } = this.#options;
    let rows = 0;
    for (const request of requests) rows += request.rows;
    const charged = { startNs, times, rows };
    if (outcomes.some((outcome) => outcome.kind === "response")) statistics.executed({ rows, times });
    if (execution.isRetry) statistics.limited("retry");

    for (const [index, request] of requests.entries()) {
      if (request.answered) continue;
      const outcome = outcomes[index] ?? missingOutcome(this.#options.modelName, execution);
      const complete = (): void => {
        this.#complete(request, outcome, charged);
      };
      if (this.#ordered === undefined) complete();
      else this.#ordered.settle(request, complete);
    }
  }

  /** Resolves when every request is answered; accepts no more. */
  stop(): Promise<void> {
    this.#stopped = true;
    if (this.#inflightCount === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenDrained.push(resolve);
    });
  }

  #complete(
    request: QueuedRequest,
    outcome: InstanceOutcome,
    execution: { readonly startNs: number; readonly times: ExecutionTimes; readonly rows: number },
  ): void {
    if (outcome.kind === "error") {
      const { code, message } = outcome.error;
      this.#fail(request, new InferenceError(code, message), "BACKEND");
      return;
    }
    const times = { queueNs: execution.startNs - request.enqueueNs, ...execution.times };
    this.#options.statistics.succeeded({ rows: request.rows, durationNs: this.#age(request), times });
    this.#answer(request, {
      kind: "response",
      outputs: outcome.outputs,
      parameters: outcome.parameters,
      times,
      executedBatchSize: execution.rows,
    });
  }

  #fail(request: QueuedRequest, error: InferenceError, reason: FailureReason): void {
    this.#options.statistics.failed({ reason, durationNs: this.#age(request) });
    this.#answer(request, { kind: "error", error, reason });
  }

  #age(request: QueuedRequest): number {
    return this.#options.clock.nowNs() - request.scheduled.startNs;
  }

  #answer(request: QueuedRequest, outcome: RequestOutcome): void {
    request.answered = true;
    this.#inflightCount -= 1;
    if (request.onAbort !== undefined) {
      request.scheduled.signal.removeEventListener("abort", request.onAbort);
      request.onAbort = undefined;
    }
    try {
      request.scheduled.respond(outcome);
    } catch (thrown) {
      const { modelName, logger } = this.#options;
      logger.log("error", `model '${modelName}': a response could not be delivered: ${String(thrown)}`);
    }
    if (this.#inflightCount === 0) for (const resolve of this.#whenDrained.splice(0)) resolve();
  }
}

function cancelled(requestId: string): InferenceError {
  return new InferenceError("CANCELLED", `${requestIdPrefix(requestId)}request was cancelled`);
}

function missingOutcome(modelName: string, execution: CompletedExecution): InstanceOutcome {
  const message = `an instance of model '${modelName}' answered ${execution.outcomes.length} of ${execution.requests.length} requests`;
  return { kind: "error", error: { code: "INTERNAL", message } };
}
