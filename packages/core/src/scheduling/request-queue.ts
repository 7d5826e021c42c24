import { InferenceError, requestIdPrefix } from "@naiad/protocol";

import { DeadlineHeap } from "./deadline-heap.ts";
import type { QueueSegment, QueuedRequest } from "./queued-request.ts";
import type { PendingBatch, QueueView } from "./select-batch.ts";

/** Triton's ModelQueuePolicy. */
export interface QueuePolicy {
  readonly timeoutAction: "reject" | "delay";
  /** Infinity: none. */
  readonly defaultTimeoutNs: number;
  readonly allowTimeoutOverride: boolean;
  /** Infinity: any number. */
  readonly maxQueueSize: number;
}

export interface QueueConfig {
  /** 0: no levels, every request counts the same. */
  readonly priorityLevels: number;
  readonly defaultPriorityLevel: number;
  readonly defaultPolicy: QueuePolicy;
  readonly levelPolicies: ReadonlyMap<number, QueuePolicy>;
}

/**
 * Requests in the order in which they are served: by priority level, within it first come first served, then those whose
 * timeout expired under the action DELAY. Every operation costs the same however many requests are queued, but for a
 * logarithm where requests have deadlines and a step per priority level in use.
 */
export class RequestQueue implements QueueView<QueuedRequest> {
  /** Set by the batcher when the policy wants to wait; gone as soon as anything in that part of the queue changes. */
  pending: PendingBatch<QueuedRequest> | undefined = undefined;

  readonly #config: QueueConfig;
  /** Those that have a request, in serving order. */
  readonly #segments: QueueSegment[] = [];
  readonly #deadlines = new DeadlineHeap<QueuedRequest>();
  #first: QueuedRequest | undefined = undefined;
  #size = 0;
  #order = 0;

  constructor(config: QueueConfig) {
    this.#config = config;
  }

  get size(): number {
    return this.#size;
  }

  get first(): QueuedRequest | undefined {
    return this.#first;
  }

  /** The earliest moment at which `expire` has something to do; Infinity when there is none. */
  get nextDeadlineNs(): number {
    return this.#deadlines.first?.deadlineNs ?? Infinity;
  }

  /** Throws UNAVAILABLE when the request's level is full. */
  push(request: QueuedRequest): void {
    const { priority, id, timeoutUs } = request.scheduled.request;
    const level = this.#levelOf(priority);
    const policy = this.#policyOf(level);
    if (policy.maxQueueSize !== Infinity && this.#sizeOf(level) >= policy.maxQueueSize) {
      throw new InferenceError("UNAVAILABLE", `${requestIdPrefix(id)}Exceeds maximum queue size`);
    }
    request.deadlineNs = request.enqueueNs + timeoutNs(policy, timeoutUs);
    this.#append(request, level, "in time");
    if (request.deadlineNs !== Infinity) this.#deadlines.add(request);
  }

  /** The first `count` requests, which leave the queue. */
  shift(count: number): QueuedRequest[] {
    const requests: QueuedRequest[] = [];
    while (requests.length < count && this.#first !== undefined) {
      const request = this.#first;
      this.remove(request);
      requests.push(request);
    }
    return requests;
  }

  /** Whether the request was queued here and has left now. */
  remove(request: QueuedRequest): boolean {
    if (request.segment === undefined) return false;
    this.#unlink(request, request.segment);
    if (request.heapIndex >= 0) this.#deadlines.remove(request);
    return true;
  }

  /** Requests that are to be rejected now and have left the queue; those under the action DELAY go back in line. */
  expire(nowNs: number): readonly QueuedRequest[] {
    const rejected: QueuedRequest[] = [];
    for (;;) {
      const request = this.#deadlines.first;
      if (request?.segment === undefined || request.deadlineNs > nowNs) return rejected;
      const { level } = request.segment;
      this.remove(request);
      if (this.#policyOf(level).timeoutAction === "reject") rejected.push(request);
      else this.#append(request, level, "delayed");
    }
  }

  #levelOf(priority: number): number {
    const { priorityLevels, defaultPriorityLevel } = this.#config;
    if (priorityLevels === 0) return 0;
    return priority >= 1 && priority <= priorityLevels ? priority : defaultPriorityLevel;
  }

  #policyOf(level: number): QueuePolicy {
    return this.#config.levelPolicies.get(level) ?? this.#config.defaultPolicy;
  }

  #sizeOf(level: number): number {
    let size = 0;
    for (const segment of this.#segments) if (segment.level === level) size += segment.count;
    return size;
  }

  #append(request: QueuedRequest, level: number, state: "in time" | "delayed"): void {
    const rank = 2 * level + (state === "delayed" ? 1 : 0);
    // Most requests belong at the end, or near it.
    let index = this.#segments.length;
    while (index > 0 && (this.#segments[index - 1]?.rank ?? 0) >= rank) index -= 1;
    let segment = this.#segments[index];
    if (segment?.rank !== rank) {
      segment = { rank, level, count: 0, tail: undefined };
      this.#segments.splice(index, 0, segment);
    }
    const previous = segment.tail ?? this.#segments[index - 1]?.tail;
    const next = previous === undefined ? this.#first : previous.next;

    request.previous = previous;
    request.next = next;
    if (previous === undefined) this.#first = request;
    else previous.next = request;
    if (next !== undefined) next.previous = request;
    request.segment = segment;
    request.order = ++this.#order;
    segment.tail = request;
    segment.count += 1;
    this.#size += 1;
    this.#forgetPendingAround(request);
  }

  #unlink(request: QueuedRequest, segment: QueueSegment): void {
    this.#forgetPendingAround(request);
    const { previous, next } = request;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next !== undefined) next.previous = previous;
    segment.count -= 1;
    if (segment.count === 0) this.#segments.splice(this.#segments.indexOf(segment), 1);
    else if (segment.tail === request) segment.tail = previous;
    this.#size -= 1;
    request.previous = undefined;
    request.next = undefined;
    request.segment = undefined;
  }

  #forgetPendingAround(request: QueuedRequest): void {
    const last = this.pending?.last;
    if (last?.segment === undefined || request.segment === undefined) return;
    const order = request.segment.rank - last.segment.rank;
    if (order < 0 || (order === 0 && request.order <= last.order)) this.pending = undefined;
  }
}

/** A request's own timeout can only shorten the model's, so without a default it does nothing, as in Triton. */
function timeoutNs(policy: QueuePolicy, requestTimeoutUs: number): number {
  if (policy.defaultTimeoutNs === Infinity) return Infinity;
  const own = policy.allowTimeoutOverride && requestTimeoutUs > 0 ? requestTimeoutUs * 1000 : Infinity;
  return Math.min(policy.defaultTimeoutNs, own);
}
