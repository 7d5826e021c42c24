import type { JsonObject, ModelStatistics } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { FakeClock } from "@naiad/testing";
import { createFakeClock } from "@naiad/testing";
import { parseRange } from "../src/perf/load-range.ts";
import type { PerfReport } from "../src/perf/perf-report.ts";
import type { Measurement, MeasurementRule, PerfLoad } from "../src/perf/run-measurement.ts";
import { runMeasurement } from "../src/perf/run-measurement.ts";
import type { PerfTarget } from "../src/perf/target.ts";

/** In nanoseconds. */
export const MS = 1e6;

interface ServerOptions {
  readonly latencyMs?: (n: number) => number;
  readonly config?: JsonObject;
  readonly hasStatistics?: boolean;
  readonly responses?: number;
  readonly failsAt?: number;
}

export interface PerfBench {
  readonly clock: FakeClock;
  readonly target: PerfTarget;
  /** How many requests were answered so far. */
  count(): number;
}

/** A server that answers after a while and counts in the manner of Triton's statistics. */
export function bench(options: ServerOptions = {}): PerfBench {
  const {
    latencyMs = () => 10,
    config = { max_batch_size: 8 },
    hasStatistics = true,
    responses = 1,
    failsAt = -1,
  } = options;
  const clock = createFakeClock();
  let count = 0;
  const statistics = (name: string): ModelStatistics => {
    const each = (ns: number) => ({ count, ns: count * ns });
    const inference_stats = {
      success: each(5 * MS),
      fail: each(0),
      queue: each(1 * MS),
      compute_input: each(0.25 * MS),
      compute_infer: each(3 * MS),
      compute_output: each(0.5 * MS),
      cache_hit: each(0),
      cache_miss: { count: 0, ns: 0 },
    };
    const version = {
      name,
      version: "1",
      last_inference: 0,
      inference_count: 2 * count,
      execution_count: count,
    };
    const stats = { ...inference_stats, cache_hit: { count: 0, ns: 0 } };
    return {
      model_stats: [
        { ...version, inference_stats: stats, response_stats: {}, batch_stats: [], memory_usage: [] },
      ],
    };
  };
  const target: PerfTarget = {
    name: "HTTP",
    modelMetadata: (name) =>
      Promise.resolve({
        name,
        versions: ["1"],
        platform: "p",
        inputs: [{ name: "x", datatype: "INT32", shape: [-1, 2] }],
        outputs: [],
      }),
    modelConfig: (name) => Promise.resolve(name === "m" ? config : {}),
    // Which also keeps the ends of windows from the ends of requests.
    modelStatistics: async (name) => {
      await new Promise<void>((resolve) => clock.after(1 * MS, resolve));
      return hasStatistics ? statistics(name) : undefined;
    },
    infer: async (_, signal) => {
      const n = count;
      await new Promise<void>((resolve) => clock.after(latencyMs(n) * MS, resolve));
      if (n === failsAt) throw new InferenceError("INTERNAL", "out of order");
      signal.throwIfAborted();
      count += 1;
      const after = Array.from({ length: responses }, (_, index) => (latencyMs(n) + index) * MS);
      return {
        responses,
        sendNs: 0.1 * MS,
        receiveNs: 0.2 * MS,
        ...(responses > 1 && { responseNs: after }),
        outputs: () => [],
      };
    },
  };
  return { clock, target, count: () => count };
}

const RULE: MeasurementRule = {
  window: { kind: "time", durationNs: 1000 * MS },
  stabilityPercent: 10,
  maxTrials: 5,
  percentile: undefined,
  latencyLimitNs: 0,
  warmupRequests: 0,
  requestCount: 0,
};

export function concurrency(text: string): PerfLoad {
  return { kind: "concurrency", range: parseRange(text, "x"), search: "linear" };
}

type MeasurementOptions = Partial<Omit<Measurement, "rule">> & { readonly rule?: Partial<MeasurementRule> };

/** Of model `m`, at one request at a time, unless told otherwise. */
export function measurement(
  { clock, target }: PerfBench,
  { rule, ...more }: MeasurementOptions = {},
): Measurement {
  return {
    target,
    clock,
    modelName: "m",
    modelVersion: "",
    data: { data: { kind: "zero" }, batchSize: 2, shapes: {}, stringLength: 1 },
    load: concurrency("1"),
    rule: { ...RULE, ...rule },
    sequences: { count: 1, lengthVariation: 0, idRange: { start: 1 } },
    parameters: {},
    keepMoments: false,
    composing: [],
    onModel: () => undefined,
    onWindow: () => undefined,
    onLevel: () => undefined,
    signal: new AbortController().signal,
    ...more,
  };
}

/** The report of a measurement that `seconds` on the clock of the server are enough for. */
export async function runOn(
  server: PerfBench,
  options: MeasurementOptions = {},
  seconds = 20,
): Promise<PerfReport> {
  const running = runMeasurement(measurement(server, options));
  running.catch(() => undefined);
  await server.clock.advance(seconds * 1000 * MS);
  return running;
}
