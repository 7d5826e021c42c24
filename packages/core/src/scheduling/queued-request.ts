import type { ScheduledRequest } from "./scheduler.ts";
import type { BatchCandidate } from "./select-batch.ts";

/** Requests of one level, without those that an expired timeout put behind them, or only those. */
export interface QueueSegment {
  readonly level: number;
  readonly delayed: boolean;
  count: number;
  tail: QueuedRequest | undefined;
}

/** An accepted request from its acceptance to its answer. */
export class QueuedRequest implements BatchCandidate<QueuedRequest> {
  readonly scheduled: ScheduledRequest;
  readonly enqueueNs: number;
  readonly rows: number;
  readonly shapeKey: string;

  /** Written by `AcceptedRequests` alone. */
  answered: boolean = false;
  onAbort: (() => void) | undefined = undefined;

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
}
