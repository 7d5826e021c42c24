import type { ModelDynamicBatching } from "@naiad/model-config";
import { InferenceError, unreachable, requestIdPrefix } from "@naiad/protocol";
import { AcceptedRequests } from "./accepted-requests.ts";
import type { Alarm } from "./alarm.ts";
import { createAlarm } from "./alarm.ts";
import { allowsPrefetching, batchingConfig, queueConfig, shapeKeyOf } from "./batching-config.ts";
import type { SchedulerOptions } from "./scheduler-options.ts";
import { Payload } from "./payload.ts";
import { QueuedRequest } from "./queued-request.ts";
import { RequestQueue } from "./request-queue.ts";
import type { ScheduledRequest, Scheduler, ValidRequest } from "./scheduler.ts";
import type { BatchingConfig } from "./select-batch.ts";
import { mergesWith, selectBatch } from "./select-batch.ts";
import type { WorkAnswers, WorkSource } from "./work-source.ts";

/**
 * Triton's dynamic batcher. It owns the queue, the batches that wait for an instance, and one alarm; what goes into a
 * batch and when is decided by `selectBatch`.
 */
export class DynamicBatcher implements Scheduler, WorkSource {
  readonly answers: WorkAnswers;
  readonly #options: SchedulerOptions;
  readonly #config: BatchingConfig;
  readonly #shapeKey: (request: ValidRequest) => string;
  readonly #queue: RequestQueue;
  readonly #accepted: AcceptedRequests;
  readonly #allowsPrefetching: boolean;
  /** In order; the last one is `#open` as long as that has requests. */
  readonly #waiting: Payload[] = [];
  #open = new Payload();
  /** When the policy wants to be asked again; Infinity: when something happens. */
  #waitUntilNs = Infinity;
  #expired: QueuedRequest[] = [];
  /** For the queue delay, for deadlines, and for answering what has expired. */
  readonly #alarm: Alarm;

  constructor(options: SchedulerOptions, batching: ModelDynamicBatching) {
    const { modelName, signature, group, clock, logger, statistics } = options;
    const queue = queueConfig(batching);
    this.#options = options;
    this.#config = batchingConfig(batching, signature);
    this.#shapeKey = shapeKeyOf(signature);
    this.#queue = new RequestQueue(queue);
    this.#allowsPrefetching = allowsPrefetching(queue);
    this.#alarm = createAlarm(clock, () => {
      this.#wake();
    });
    this.#accepted = new AcceptedRequests({
      modelName,
      clock,
      logger,
      statistics,
      ordering: batching.preserveOrdering ? "acceptance" : "none",
      onCancelled: (request) => {
        this.#withdraw(request);
      },
    });
    this.answers = this.#accepted;
    group.serve(this);
  }

  get inflightCount(): number {
    return this.#accepted.inflightCount;
  }

  enqueue(scheduled: ScheduledRequest): void {
    this.#accepted.assertAcceptable(scheduled);
    const refusal = this.#options.group.refusal();
    if (refusal !== undefined) throw refusal;

    const nowNs = this.#options.clock.nowNs();
    const request = new QueuedRequest(scheduled, {
      enqueueNs: nowNs,
      shapeKey: this.#shapeKey(scheduled.request),
    });
    // What has expired takes no place in the queue any more, also when its timer is late.
    this.#expire(nowNs);
    this.#queue.push(request);
    this.#accepted.add(request);
    this.#advance(nowNs);
  }

  async stop(): Promise<void> {
    await this.#accepted.stop();
    this.#alarm.cancel();
  }

  // What the instances ask for

  take(): readonly QueuedRequest[] | undefined {
    const nowNs = this.#options.clock.nowNs();
    const isFormedNow = this.#waiting.length === 0;
    while (this.#waiting.length === 0 && this.#step(nowNs, { demand: 1 }));
    const payload = this.#waiting.shift();
    if (payload === undefined) {
      this.#setAlarm(nowNs);
      return undefined;
    }
    // Had an instance been free, it would have been formed when its requests came, or at the end of their delay.
    if (isFormedNow) payload.waited = true;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (!mergesWith(payload, next, this.#config, nowNs)) break;
      payload.add(next.requests);
      payload.mark(next);
      this.#waiting.shift();
    }
    if (!this.#waiting.includes(this.#open)) this.#open = new Payload();
    this.#options.statistics.limited(payload.limit);
    this.#advance(nowNs);
    return payload.requests;
  }

  hasWork(): boolean {
    return this.#waiting.length > 0 || this.#queue.size > 0;
  }

  failed(request: QueuedRequest, error: InferenceError): void {
    this.#accepted.failInTurn(request, error, "BACKEND");
  }

  failWaiting(error: InferenceError): void {
    const payloads = this.#waiting.splice(0);
    this.#open = new Payload();
    const requests = [...payloads.flatMap((payload) => payload.requests), ...this.#queue.shift(Infinity)];
    for (const request of requests) this.#accepted.fail(request, error, "OTHER");
  }

  // Forming batches

  /** Forms batches as far as the policy wants to and instances or slots allow. */
  #advance(nowNs: number): void {
    while (this.#step(nowNs, { demand: 0 })) {
      if (this.#options.group.idleCount > 0) this.#options.group.wake();
    }
    this.#open.waited = this.#open.rows > 0;
    this.#setAlarm(nowNs);
  }

  /** One decision of the policy. `demand`: instances that ask for work right now. Returns whether it changed anything. */
  #step(nowNs: number, { demand }: { readonly demand: number }): boolean {
    this.#waitUntilNs = Infinity;
    this.#expire(nowNs);
    if (this.#queue.size === 0 || !this.#slotAvailable(demand)) return false;
    if (this.#open.saturated) this.#open = new Payload();

    const decision = selectBatch(this.#queue, this.#open, this.#config, nowNs);
    switch (decision.kind) {
      case "idle":
        return false;
      case "wait":
        this.#queue.pending = decision.pending;
        this.#waitUntilNs = decision.untilNs;
        return false;
      case "close":
        this.#open.mark(decision);
        return true;
      case "dispatch":
        if (this.#open.rows === 0) this.#waiting.push(this.#open);
        this.#open.add(this.#queue.shift(decision.count));
        this.#open.mark(decision);
        return true;
      default:
        return unreachable(decision);
    }
  }

  #slotAvailable(demand: number): boolean {
    const { idleCount, instanceCount } = this.#options.group;
    /** Most payloads that may wait while every instance is busy. */
    const prefetchLimit = this.#allowsPrefetching ? 2 * instanceCount : 0;
    return this.#waiting.length < Math.max(prefetchLimit, idleCount + demand);
  }

  /** They are answered by the timer, which is due: never from inside `enqueue`. */
  #expire(nowNs: number): void {
    for (const request of this.#queue.expire(nowNs)) this.#expired.push(request);
  }

  #withdraw(request: QueuedRequest): void {
    if (!this.#queue.remove(request)) {
      const index = this.#waiting.findIndex((payload) => payload.requests.includes(request));
      const payload = this.#waiting[index];
      if (payload === undefined) return;
      payload.remove(request);
      if (payload.rows === 0) {
        this.#waiting.splice(index, 1);
        if (payload === this.#open) this.#open = new Payload();
      }
    }
    this.#advance(this.#options.clock.nowNs());
  }

  // Time

  #setAlarm(nowNs: number): void {
    const hasExpired = this.#expired.length > 0;
    this.#alarm.setAt(hasExpired ? nowNs : Math.min(this.#waitUntilNs, this.#queue.nextDeadlineNs));
  }

  #wake(): void {
    this.#advance(this.#options.clock.nowNs());
    const expired = this.#expired;
    this.#expired = [];
    for (const request of expired) {
      const message = `${requestIdPrefix(request.scheduled.request.id)}Request timeout expired`;
      this.#accepted.fail(request, new InferenceError("UNAVAILABLE", message), "REJECTED");
    }
  }
}
