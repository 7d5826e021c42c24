import type { InferenceError } from "@naiad/protocol";
import { AcceptedRequests } from "./accepted-requests.ts";
import { PLAIN_QUEUE } from "./batching-config.ts";
import type { SchedulerOptions } from "./scheduler-options.ts";
import { QueuedRequest } from "./queued-request.ts";
import { RequestQueue } from "./request-queue.ts";
import type { ScheduledRequest, Scheduler } from "./scheduler.ts";
import type { WorkAnswers, WorkSource } from "./work-source.ts";

/**
 * Triton's scheduler for a model that configures none: every request is executed by itself, first come first served
 * across the instances. Priorities, timeouts and queue policies do not apply.
 */
export class DefaultScheduler implements Scheduler, WorkSource {
  readonly answers: WorkAnswers;
  readonly #options: SchedulerOptions;
  readonly #queue = new RequestQueue(PLAIN_QUEUE);
  readonly #accepted: AcceptedRequests;

  constructor(options: SchedulerOptions) {
    const { modelName, group, clock, logger, statistics } = options;
    this.#options = options;
    this.#accepted = new AcceptedRequests({
      modelName,
      clock,
      logger,
      statistics,
      ordering: "none",
      onCancelled: (request) => {
        this.#queue.remove(request);
      },
    });
    this.answers = this.#accepted;
    group.serve(this);
  }

  get inflightCount(): number {
    return this.#accepted.inflightCount;
  }

  enqueue(scheduled: ScheduledRequest): void {
    const { group, clock } = this.#options;
    this.#accepted.assertAcceptable(scheduled);
    const refusal = group.refusal();
    if (refusal !== undefined) throw refusal;

    const request = new QueuedRequest(scheduled, { enqueueNs: clock.nowNs(), shapeKey: "" });
    this.#queue.push(request);
    this.#accepted.add(request);
    group.wake();
  }

  stop(): Promise<void> {
    return this.#accepted.stop();
  }

  take(): readonly QueuedRequest[] | undefined {
    const requests = this.#queue.shift(1);
    if (requests.length === 0) return undefined;
    this.#options.statistics.limited("not_batching");
    return requests;
  }

  hasWork(): boolean {
    return this.#queue.size > 0;
  }

  failed(request: QueuedRequest, error: InferenceError): void {
    this.#accepted.fail(request, error, "BACKEND");
  }

  failWaiting(error: InferenceError): void {
    for (const request of this.#queue.shift(Infinity)) this.#accepted.fail(request, error, "OTHER");
  }
}
