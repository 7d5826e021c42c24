import type { BatchLimit } from "../statistics/model-statistics.ts";

/**
 * The policy of the dynamic batcher (Triton's dynamic_batch_scheduler): which of the queued requests go into the batch
 * that is being built, and when. It reads and decides; `dynamic-batcher.ts` carries the decision out.
 */

/** A queued request as the policy sees it; `Self` is what it really is. */
export interface BatchCandidate<Self> {
  /** Batch size, at least 1. */
  readonly rows: number;
  readonly enqueueNs: number;
  /** Requests with different keys cannot share a batch. */
  readonly shapeKey: string;
  /** The one behind it in the queue's order. */
  readonly next: Self | undefined;
}

/**
 * The front part of the queue that was already walked and waits for more. Kept between calls, so that a call looks only
 * at requests that came since; the queue drops it when that part changes.
 */
export interface PendingBatch<Candidate> {
  readonly count: number;
  readonly rows: number;
  readonly oldestNs: number;
  readonly last: Candidate;
}

/** Expired and cancelled requests are no longer in it. */
export interface QueueView<Candidate> {
  readonly first: Candidate | undefined;
  readonly pending: PendingBatch<Candidate> | undefined;
}

/** The batch being built: it stays open until an instance takes it. */
export interface PayloadView {
  /** 0: empty, and `shapeKey` says nothing. */
  readonly rows: number;
  readonly shapeKey: string;
}

export interface BatchingConfig {
  /** At least 1. */
  readonly maxBatchSize: number;
  /** Ascending. */
  readonly preferredBatchSizes: readonly number[];
  /** 0: never wait. */
  readonly maxQueueDelayNs: number;
}

export type BatchDecision<Candidate> =
  /** Nothing is queued. */
  | { readonly kind: "idle" }
  /** Ask again at `untilNs`, or when something has come; the queue keeps `pending` till then. */
  | { readonly kind: "wait"; readonly untilNs: number; readonly pending: PendingBatch<Candidate> }
  /** Move the first `count` requests into the payload. */
  | ({ readonly kind: "dispatch"; readonly count: number } & PayloadMarks)
  /** The payload cannot grow; start another and ask again. */
  | ({ readonly kind: "close" } & PayloadMarks);

export interface PayloadMarks {
  /** Nothing more goes into the payload. */
  readonly saturated: boolean;
  /** A request of another shape stands behind it, so it is not merged with a later payload either. */
  readonly shapeLimited: boolean;
  readonly limit: BatchLimit;
}

/** Costs one step per request that came since `queue.pending`, and never more than `maxBatchSize` + 1 steps. */
export function selectBatch<Candidate extends BatchCandidate<Candidate>>(
  queue: QueueView<Candidate>,
  payload: PayloadView,
  config: BatchingConfig,
  nowNs: number,
): BatchDecision<Candidate> {
  const { maxBatchSize, maxQueueDelayNs } = config;
  const maxPreferred = config.preferredBatchSizes.at(-1) ?? 0;

  let count = queue.pending?.count ?? 0;
  let rows = queue.pending?.rows ?? 0;
  let oldestNs = queue.pending?.oldestNs ?? Infinity;
  let last = queue.pending?.last;
  let candidate = last === undefined ? queue.first : last.next;
  const shapeKey = payload.rows > 0 ? payload.shapeKey : queue.first?.shapeKey;

  let best: { readonly count: number; readonly rows: number } | undefined;
  let saturated = false;
  let stop: "too_large" | "shape" | undefined;

  for (; candidate !== undefined; candidate = candidate.next) {
    if (payload.rows + count > 0) {
      const grown = payload.rows + rows + candidate.rows;
      if (grown > maxPreferred && best === undefined) {
        saturated = true;
        if (count > 0) best = { count, rows };
      }
      if (grown > maxBatchSize) {
        stop = "too_large";
        break;
      }
      if (candidate.shapeKey !== shapeKey) {
        stop = "shape";
        break;
      }
    }
    count += 1;
    rows += candidate.rows;
    oldestNs = Math.min(oldestNs, candidate.enqueueNs);
    last = candidate;
    if (config.preferredBatchSizes.includes(payload.rows + rows)) best = { count, rows };
  }

  const shapeLimited = stop === "shape";
  const delayExpired = maxQueueDelayNs > 0 && nowNs - oldestNs >= maxQueueDelayNs;

  if (best !== undefined && !delayExpired) {
    return {
      kind: "dispatch",
      count: best.count,
      saturated: saturated || maxQueueDelayNs === 0,
      shapeLimited,
      limit: sizeLimit(payload.rows + best.rows, config) ?? stop ?? "too_large",
    };
  }
  if (last === undefined) {
    return stop === undefined
      ? { kind: "idle" }
      : { kind: "close", saturated: true, shapeLimited, limit: sizeLimit(payload.rows, config) ?? stop };
  }
  const total = payload.rows + rows;
  if (stop !== undefined || total >= maxPreferred) {
    const limit = sizeLimit(total, config) ?? stop ?? "preferred_batch_size";
    return { kind: "dispatch", count, saturated: true, shapeLimited, limit };
  }
  if (delayExpired || maxQueueDelayNs === 0) {
    const limit = delayExpired ? "queue_empty" : "no_delay";
    return { kind: "dispatch", count, saturated: false, shapeLimited, limit };
  }
  if (payload.rows > 0 && !saturated && !config.preferredBatchSizes.includes(payload.rows)) {
    return { kind: "dispatch", count, saturated: false, shapeLimited, limit: "instance_busy" };
  }
  return { kind: "wait", untilNs: oldestNs + maxQueueDelayNs, pending: { count, rows, oldestNs, last } };
}

function sizeLimit(rows: number, config: BatchingConfig): BatchLimit | undefined {
  if (rows >= config.maxBatchSize) return "full";
  return config.preferredBatchSizes.includes(rows) ? "preferred_batch_size" : undefined;
}

export interface WaitingPayload extends PayloadView {
  readonly oldestNs: number;
  readonly shapeLimited: boolean;
}

/**
 * Whether an instance that takes `first` takes `second`, the next in line, along with it: a batch that has waited longer
 * than the queue delay is not held to its preferred size.
 */
export function mergesWith(
  first: WaitingPayload,
  second: WaitingPayload,
  config: BatchingConfig,
  nowNs: number,
): boolean {
  return (
    config.maxQueueDelayNs > 0 &&
    !first.shapeLimited &&
    !second.shapeLimited &&
    first.shapeKey === second.shapeKey &&
    first.rows + second.rows <= config.maxBatchSize &&
    nowNs - second.oldestNs > config.maxQueueDelayNs
  );
}
