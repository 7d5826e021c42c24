import type {
  BatchStatistics,
  InferStatistics,
  ModelVersionStatistics,
  StatisticDuration,
} from "@naiad/protocol";
import type { Clock, ExecutionTimes } from "../ports.ts";
import type { FailureReason, RequestTimes } from "../scheduling/scheduler.ts";

/**
 * Why an execution had no more requests in it.
 *
 * - `full`: it reached `max_batch_size`
 * - `preferred_batch_size`: it was closed at a preferred size
 * - `too_large`: the next request did not fit any more
 * - `shape`: the next request had other shapes or other optional inputs
 * - `no_delay`: nothing else was queued and the configuration does not wait
 * - `delay_expired`: `max_queue_delay_microseconds` had passed
 * - `queue_empty`: it stayed open until an instance was free, and nothing more came
 * - `not_batching`: the model's scheduler does not batch
 * - `retry`: the request ran alone because its first execution was lost
 */
export type BatchLimit =
  | "full"
  | "preferred_batch_size"
  | "too_large"
  | "shape"
  | "no_delay"
  | "delay_expired"
  | "queue_empty"
  | "not_batching"
  | "retry";

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
  /** An execution that answered at least one of its requests. `rows` is the total batch size, at least 1. */
  executed(execution: { readonly rows: number; readonly times: ExecutionTimes }): void;
  succeeded(request: {
    readonly rows: number;
    readonly durationNs: number;
    readonly times: RequestTimes;
  }): void;
  failed(request: { readonly reason: FailureReason; readonly durationNs: number }): void;
  /** An instance took a batch. */
  limited(limit: BatchLimit): void;
  snapshot(model: { readonly name: string; readonly version: string }): ModelVersionStatistics;
  details(): ModelStatisticsDetails;
}

interface Duration {
  count: number;
  ns: number;
}

interface BatchDurations {
  readonly computeInput: Duration;
  readonly computeInfer: Duration;
  readonly computeOutput: Duration;
}

/** Durations are kept in whole nanoseconds. */
export function createModelStatistics({
  clock,
}: {
  readonly clock: Pick<Clock, "epochMs">;
}): ModelStatisticsRecorder {
  const success = duration();
  const fail = duration();
  const queue = duration();
  const compute = batchDurations();
  const batches = new Map<number, BatchDurations>();
  const failures: Record<FailureReason, number> = { REJECTED: 0, CANCELED: 0, BACKEND: 0, OTHER: 0 };
  const batchLimits: Record<BatchLimit, number> = {
    full: 0,
    preferred_batch_size: 0,
    too_large: 0,
    shape: 0,
    no_delay: 0,
    delay_expired: 0,
    queue_empty: 0,
    not_batching: 0,
    retry: 0,
  };
  let inferenceCount = 0;
  let executionCount = 0;
  let lastInference = 0;

  return {
    executed({ rows, times }) {
      executionCount += 1;
      lastInference = Math.floor(clock.epochMs());
      let batch = batches.get(rows);
      if (batch === undefined) batches.set(rows, (batch = batchDurations()));
      addTimes(batch, times);
    },
    succeeded({ rows, durationNs, times }) {
      inferenceCount += rows;
      add(success, durationNs);
      add(queue, times.queueNs);
      addTimes(compute, times);
    },
    failed({ reason, durationNs }) {
      failures[reason] += 1;
      add(fail, durationNs);
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
      inference_stats: inferStatistics({ success, fail, queue, compute }),
      response_stats: {},
      batch_stats: [...batches]
        .sort(([a], [b]) => a - b)
        .map(([rows, batch]) => batchStatistics(rows, batch)),
      memory_usage: [],
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
  total.ns += Math.max(0, Math.round(ns));
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
}): InferStatistics {
  return {
    success: copy(totals.success),
    fail: copy(totals.fail),
    queue: copy(totals.queue),
    compute_input: copy(totals.compute.computeInput),
    compute_infer: copy(totals.compute.computeInfer),
    compute_output: copy(totals.compute.computeOutput),
    cache_hit: duration(),
    cache_miss: duration(),
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
