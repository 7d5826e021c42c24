import { describe, expect, it } from "vitest";
import { createModelStatistics } from "./model-statistics.ts";

const times = { computeInputNs: 10, computeInferNs: 200, computeOutputNs: 30 };

describe("createModelStatistics", () => {
  it("starts at zero, in the shape of the protocol", () => {
    const statistics = createModelStatistics({ clock: { epochMs: () => 5 } });
    const none = { count: 0, ns: 0 };
    expect(statistics.snapshot({ name: "m", version: "3" })).toEqual({
      name: "m",
      version: "3",
      last_inference: 0,
      inference_count: 0,
      execution_count: 0,
      inference_stats: {
        success: none,
        fail: none,
        queue: none,
        compute_input: none,
        compute_infer: none,
        compute_output: none,
        cache_hit: none,
        cache_miss: none,
      },
      response_stats: {},
      batch_stats: [],
      memory_usage: [],
      batch_limits: {
        full: 0,
        preferred_batch_size: 0,
        too_large: 0,
        shape: 0,
        no_delay: 0,
        queue_empty: 0,
        instance_busy: 0,
        not_batching: 0,
        retry: 0,
      },
    });
  });

  it("charges each request of a batch the whole batch's compute times, and the batch once", () => {
    const statistics = createModelStatistics({ clock: { epochMs: () => 1234.9 } });
    statistics.executed({ rows: 3, times });
    statistics.succeeded({ rows: 1, durationNs: 1000, times: { ...times, queueNs: 5 } });
    statistics.succeeded({ rows: 2, durationNs: 1100, times: { ...times, queueNs: 7 } });
    statistics.failed({ reason: "BACKEND", durationNs: 900 });
    expect(statistics.snapshot({ name: "m", version: "1" })).toMatchObject({
      last_inference: 1234,
      inference_count: 3,
      execution_count: 1,
      inference_stats: {
        success: { count: 2, ns: 2100 },
        fail: { count: 1, ns: 900 },
        queue: { count: 2, ns: 12 },
        compute_input: { count: 2, ns: 20 },
        compute_infer: { count: 2, ns: 400 },
        compute_output: { count: 2, ns: 60 },
      },
      batch_stats: [
        {
          batch_size: 3,
          compute_input: { count: 1, ns: 10 },
          compute_infer: { count: 1, ns: 200 },
          compute_output: { count: 1, ns: 30 },
        },
      ],
    });
    expect(statistics.details().failures).toEqual({ REJECTED: 0, CANCELED: 0, BACKEND: 1, OTHER: 0 });
  });

  it("lists batch sizes in ascending order", () => {
    const statistics = createModelStatistics({ clock: { epochMs: () => 0 } });
    for (const rows of [8, 1, 8, 2]) statistics.executed({ rows, times });
    const { batch_stats, execution_count } = statistics.snapshot({ name: "m", version: "1" });
    expect(batch_stats.map(({ batch_size, compute_infer }) => [batch_size, compute_infer.count])).toEqual([
      [1, 1],
      [2, 1],
      [8, 2],
    ]);
    expect(execution_count).toBe(4);
  });

  it("keeps whole nanoseconds and no negative ones", () => {
    const statistics = createModelStatistics({ clock: { epochMs: () => 0 } });
    statistics.failed({ reason: "OTHER", durationNs: 1.6 });
    statistics.failed({ reason: "OTHER", durationNs: -5 });
    expect(statistics.snapshot({ name: "m", version: "1" }).inference_stats.fail).toEqual({
      count: 2,
      ns: 2,
    });
  });

  it("gives snapshots that later events do not change", () => {
    const statistics = createModelStatistics({ clock: { epochMs: () => 0 } });
    const snapshot = statistics.snapshot({ name: "m", version: "1" });
    const details = statistics.details();
    statistics.failed({ reason: "OTHER", durationNs: 1 });
    statistics.limited("shape");
    expect(snapshot.inference_stats.fail.count).toBe(0);
    expect(details).toMatchObject({ failures: { OTHER: 0 }, batchLimits: { shape: 0 } });
    expect(statistics.details()).toMatchObject({ failures: { OTHER: 1 }, batchLimits: { shape: 1 } });
  });

  it("counts an answer from the cache as a success without an inference, and a miss beside its success", () => {
    const statistics = createModelStatistics({ clock: { epochMs: () => 5 } });
    statistics.cacheHit({ durationNs: 40, lookupNs: 30 });
    statistics.succeeded({ rows: 1, durationNs: 1000, times: { ...times, queueNs: 5 } });
    statistics.cacheMissed({ lookupNs: 20, insertionNs: 7 });
    expect(statistics.snapshot({ name: "m", version: "1" })).toMatchObject({
      last_inference: 0,
      inference_count: 1,
      inference_stats: {
        success: { count: 2, ns: 1047 },
        queue: { count: 2, ns: 5 },
        compute_infer: { count: 1 },
        cache_hit: { count: 1, ns: 30 },
        cache_miss: { count: 1, ns: 27 },
      },
    });
  });
});
