import type {
  BatchStatistics,
  InferStatistics,
  ModelVersionStatistics,
  StatisticDuration,
} from "@naiad/protocol";
import type { Clock, ExecutionTimes } from "../ports.ts";
import type { ModelLatencies } from "../metrics/model-latencies.ts";
import type { FailureReason, RequestTimes } from "../scheduling/scheduler.ts";
import { createResponseStatistics } from "./response-statistics.ts";

/**
 * Why an execution had no more requests in it.
 *
 * - `full`: it reached `max_batch_size`
 * - `preferred_batch_size`: it was closed at a preferred size
 * - `too_large`: the next request did not fit any more
 * - `shape`: the next request had other shapes or other optional inputs
 * - `no_delay`: an instance was free, nothing else was queued, and the configuration does not wait
 * - `queue_empty`: nothing more came before `max_queue_delay_microseconds` had passed, or could have come
 * - `instance_busy`: it took along all that came while it waited for an instance
 * - `not_batching`: the model's scheduler does not batch, or has one slot for sequences
 * - `retry`: the request ran alone because its first execution was lost
 */
export type BatchLimit =
  | "full"
  | "preferred_batch_size"
  | "too_large"
  | "shape"
  | "no_delay"
  | "queue_empty"
  | "instance_busy"
  | "not_batching"
  | "retry";

/** Requests that were accepted, do not execute yet and are not answered. Those that run again were pending once only. */
export interface PendingCount {
  value: number;
  /** Of their inputs. */
  bytes: number;
}

/** What Triton's statistics do not say. */
export interface ModelStatisticsDetails {
  readonly failures: Readonly<Record<FailureReason, number>>;
  /** Executions by what limited their batch. */
  readonly batchLimits: Readonly<Record<BatchLimit, number>>;
}

/**
 * Counts for one loaded model version; a new load starts anew. Requests that were refused at once (invalid, queue full)
 * are never told to it, as in Triton.
 */
export interface ModelStatisticsRecorder {
  /** Kept by `AcceptedRequests` and `QueuedRequest`. */
  readonly pending: PendingCount;
  /** An execution that answered at least one of its requests. `rows` is the total batch size, at least 1. */
  executed(execution: { readonly rows: number; readonly times: ExecutionTimes }): void;
  succeeded(request: {
    readonly rows: number;
    readonly durationNs: number;
    readonly times: RequestTimes;
    /** How many `streamed` was told of before; absent: none. */
    readonly responses?: number;
  }): void;
  failed(request: {
    readonly reason: FailureReason;
    readonly durationNs: number;
    /** As for `succeeded`. */
    readonly responses?: number;
  }): void;
  /** A decoupled request has its first response, so long after it came. */
  firstResponse(durationNs: number): void;
  /** One response of a decoupled request, or what came in its place. */
  streamed(response: ResponseRecord): void;
  /** A request was answered from the response cache: it was never queued and nothing was executed for it. */
  cacheHit(request: { readonly durationNs: number; readonly lookupNs: number }): void;
  /** The answer of a request that succeeded was offered to the response cache, after `succeeded`. */
  cacheMissed(request: { readonly lookupNs: number; readonly insertionNs: number }): void;
  /** An instance took a batch. */
  limited(limit: BatchLimit): void;
  snapshot(model: { readonly name: string; readonly version: string }): ModelVersionStatistics;
  details(): ModelStatisticsDetails;
}

/** `index`: how many responses the request had before. */
export type ResponseRecord =
  | {
      readonly kind: "success" | "fail";
      readonly index: number;
      readonly computeInferNs: number;
      readonly computeOutputNs: number;
    }
  /** `empty_response`: the end, alone. `cancel`: the model let go of a request that nobody waited for any more. */
  | { readonly kind: "empty_response" | "cancel"; readonly index: number; readonly durationNs: number };

interface Duration {
  count: number;
  ns: number;
}

interface BatchDurations {
  readonly computeInput: Duration;
  readonly computeInfer: Duration;
  readonly computeOutput: Duration;
}

export interface ModelStatisticsOptions {
  readonly clock: Pick<Clock, "epochMs">;
  /** Told of the same durations one by one. */
  readonly latencies?: ModelLatencies;
}

/** Durations are kept in whole nanoseconds. */
export function createModelStatistics({ clock, latencies }: ModelStatisticsOptions): ModelStatisticsRecorder {
  const success = duration();
  const fail = duration();
  const queue = duration();
  const compute = batchDurations();
  const cacheHit = duration();
  const cacheMiss = duration();
  const batches = new Map<number, BatchDurations>();
  const responses = createResponseStatistics();
  const failures: Record<FailureReason, number> = { REJECTED: 0, CANCELED: 0, BACKEND: 0, OTHER: 0 };
  const batchLimits: Record<BatchLimit, number> = {
    full: 0,
    preferred_batch_size: 0,
    too_large: 0,
    shape: 0,
    no_delay: 0,
    queue_empty: 0,
    instance_busy: 0,
    not_batching: 0,
    retry: 0,
  };
  let inferenceCount = 0;
  let executionCount = 0;
  let lastInference = 0;

  return {
    pending: { value: 0, bytes: 0 },
    executed({ rows, times }) {
      executionCount += 1;
      lastInference = Math.floor(clock.epochMs());
      let batch = batches.get(rows);
      if (batch === undefined) batches.set(rows, (batch = batchDurations()));
      addTimes(batch, times);
    },
    succeeded({ rows, durationNs, times, responses: before = 0 }) {
      inferenceCount += rows;
      add(success, durationNs);
      add(queue, times.queueNs);
      addTimes(compute, times);
      latencies?.succeeded(durationNs, times);
      if (before === 0) latencies?.responded(durationNs);
    },
    failed({ reason, durationNs, responses: before = 0 }) {
      failures[reason] += 1;
      add(fail, durationNs);
      if (before === 0) latencies?.responded(durationNs);
    },
    firstResponse(durationNs) {
      latencies?.responded(durationNs);
    },
    streamed(response) {
      responses.add(response);
    },
    cacheHit({ durationNs, lookupNs }) {
      add(success, durationNs);
      add(queue, 0);
      add(cacheHit, lookupNs);
      latencies?.cacheHit(lookupNs);
      latencies?.responded(durationNs);
    },
    cacheMissed({ lookupNs, insertionNs }) {
      // The lookup lies between the start of the request and its success, the insertion does not.
      success.ns += wholeNs(insertionNs);
      add(cacheMiss, lookupNs + insertionNs);
      latencies?.cacheMissed(lookupNs + insertionNs);
    },
    limited(limit) {
      batchLimits[limit] += 1;
    },
    snapshot: ({ name, version }) => ({
      name,
      version,
      last_inference: lastInference,
      inference_count: inferenceCount,
      execution_count: executionCount,
      inference_stats: inferStatistics({ success, fail, queue, compute, cacheHit, cacheMiss }),
      response_stats: responses.snapshot(),
      batch_stats: [...batches]
        .sort(([a], [b]) => a - b)
        .map(([rows, batch]) => batchStatistics(rows, batch)),
      memory_usage: [],
      batch_limits: { ...batchLimits },
    }),
    details: () => ({ failures: { ...failures }, batchLimits: { ...batchLimits } }),
  };
}

function duration(): Duration {
  return { count: 0, ns: 0 };
}

function batchDurations(): BatchDurations {
  return { computeInput: duration(), computeInfer: duration(), computeOutput: duration() };
}

function add(total: Duration, ns: number): void {
  total.count += 1;
  total.ns += wholeNs(ns);
}

function wholeNs(ns: number): number {
  return Math.max(0, Math.round(ns));
}

function addTimes(totals: BatchDurations, times: ExecutionTimes): void {
  add(totals.computeInput, times.computeInputNs);
  add(totals.computeInfer, times.computeInferNs);
  add(totals.computeOutput, times.computeOutputNs);
}

function inferStatistics(totals: {
  readonly success: Duration;
  readonly fail: Duration;
  readonly queue: Duration;
  readonly compute: BatchDurations;
  readonly cacheHit: Duration;
  readonly cacheMiss: Duration;
}): InferStatistics {
  return {
    success: copy(totals.success),
    fail: copy(totals.fail),
    queue: copy(totals.queue),
    compute_input: copy(totals.compute.computeInput),
    compute_infer: copy(totals.compute.computeInfer),
    compute_output: copy(totals.compute.computeOutput),
    cache_hit: copy(totals.cacheHit),
    cache_miss: copy(totals.cacheMiss),
  };
}

function batchStatistics(rows: number, batch: BatchDurations): BatchStatistics {
  return {
    batch_size: rows,
    compute_input: copy(batch.computeInput),
    compute_infer: copy(batch.computeInfer),
    compute_output: copy(batch.computeOutput),
  };
}

function copy({ count, ns }: Duration): StatisticDuration {
  return { count, ns };
}
