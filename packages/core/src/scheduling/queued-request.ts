import type { InstanceRequest } from "../ports.ts";
import type { PendingCount } from "../statistics/model-statistics.ts";
import type { OrderedAnswers } from "./ordered-answers.ts";
import type { ScheduledRequest } from "./scheduler.ts";
import type { BatchCandidate } from "./select-batch.ts";
import { hostBytes } from "./tensor-bytes.ts";
import type { BatchEntry } from "./work-source.ts";

/** Requests of one level, without those that an expired timeout put behind them, or only those. */
export interface QueueSegment {
  /** Where it stands among the segments: by level, and behind its level's others those that were put there. */
  readonly rank: number;
  readonly level: number;
  count: number;
  tail: QueuedRequest | undefined;
}

/** An accepted request from its acceptance to its answer. */
export class QueuedRequest implements BatchCandidate<QueuedRequest>, BatchEntry {
  readonly scheduled: ScheduledRequest;
  readonly enqueueNs: number;
  readonly rows: number;
  /** Written by the sequence batcher too: what its sequence remembers has a shape as well. */
  shapeKey: string;

  /** Written by `AcceptedRequests` alone. */
  answered: boolean = false;
  onAbort: (() => void) | undefined = undefined;

  /** In which its answer waits for its turn; written by `AcceptedRequests` alone. */
  line: OrderedAnswers<QueuedRequest> | undefined = undefined;

  /** Frees what it would be answered with, while that waits for its turn; written by `AcceptedRequests` alone. */
  disposeAnswer: (() => void) | undefined = undefined;

  /** When the execution began that it is in, or was in last; written by its instance group. */
  executionStartNs: number = 0;
  /** Of a decoupled request, handed over so far; written by `AcceptedRequests`, as the next two. */
  responseCount: number = 0;
  /** When there was room again after the last of them. */
  respondedNs: number = 0;
  /** Until the model has let go of it. */
  cancelledNs: number | undefined = undefined;

  /** What counts it as pending, and with how many bytes. */
  #pendingIn: PendingCount | undefined = undefined;
  #pendingBytes = 0;

  /** Its place in a `RequestQueue`, written by that alone: a linked list, so that any request leaves at once. */
  next: QueuedRequest | undefined = undefined;
  previous: QueuedRequest | undefined = undefined;
  segment: QueueSegment | undefined = undefined;
  /** Grows along a segment. */
  order: number = 0;

  /** Its place in a `DeadlineHeap`, written by that and the queue. Infinity: it never expires. */
  deadlineNs: number = Infinity;
  heapIndex: number = -1;

  constructor(
    scheduled: ScheduledRequest,
    options: { readonly enqueueNs: number; readonly shapeKey: string },
  ) {
    this.scheduled = scheduled;
    this.enqueueNs = options.enqueueNs;
    this.rows = Math.max(1, scheduled.request.batchSize);
    this.shapeKey = options.shapeKey;
  }

  /** It was accepted. */
  beginPending(pending: PendingCount): void {
    this.#pendingBytes = hostBytes(this.scheduled.request.inputs);
    pending.value += 1;
    pending.bytes += this.#pendingBytes;
    this.#pendingIn = pending;
  }

  /** It executes now, or never will. Idempotent. */
  endPending(): void {
    if (this.#pendingIn === undefined) return;
    this.#pendingIn.value -= 1;
    this.#pendingIn.bytes -= this.#pendingBytes;
    this.#pendingIn = undefined;
  }

  /** As it came, for schedulers that add nothing. */
  get executed(): InstanceRequest {
    const { request, trace } = this.scheduled;
    return trace === undefined ? request : { ...request, traceId: trace.id };
  }

  get request(): this {
    return this;
  }
}
