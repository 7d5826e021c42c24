import type { InferenceClient } from "@naiad/client";
import type { Clock } from "@naiad/core";
import { createBrowserClock } from "@naiad/runtime/platform";
import { createClientTarget } from "./client-target.ts";
import type { PerfInputData } from "./input-data.ts";
import { parseRange } from "./load-range.ts";
import type { PerfLevel, PerfReport, PerfWindow } from "./perf-report.ts";
import type { PerfLoad } from "./run-measurement.ts";
import { runMeasurement } from "./run-measurement.ts";

/** Named as perf_analyzer's options, with the same defaults. */
export interface MeasureOptions {
  /** `server.client` for the way over the port, a client of `createFetchTransport` for that over HTTP. */
  readonly client: InferenceClient;
  /** What the report calls that way. Default `port`. */
  readonly transport?: string;
  readonly modelName: string;
  readonly modelVersion?: string;
  /** `start[:end[:step]]` requests on their way. Default `1`. */
  readonly concurrencyRange?: string;
  /** `start[:end[:step]]` requests a second, in place of a concurrency. Latencies then count from when a request was due. */
  readonly requestRateRange?: string;
  readonly requestDistribution?: "constant" | "poisson";
  readonly inputData?: "zero" | "random" | PerfInputData;
  /** Sizes for inputs of variable shape, without the batch dimension. */
  readonly shapes?: Readonly<Record<string, readonly number[]>>;
  readonly batchSize?: number;
  /** Milliseconds. Default 5000. */
  readonly measurementInterval?: number;
  /** Requests of each measurement, in place of windows that must agree. */
  readonly requestCount?: number;
  readonly warmupRequestCount?: number;
  /** Percent. Default 10. */
  readonly stabilityPercentage?: number;
  readonly maxTrials?: number;
  /** Absent: latencies are judged by their mean. */
  readonly percentile?: number;
  /** Milliseconds; 0: none. */
  readonly latencyThreshold?: number;
  readonly sequenceLength?: number;
  readonly onWindow?: (value: number, window: PerfWindow) => void;
  readonly onLevel?: (level: PerfLevel) => void;
  readonly signal?: AbortSignal;
}

/** The defaults of perf_analyzer. */
export const PERF_DEFAULTS = {
  measurementIntervalMs: 5000,
  measurementRequestCount: 50,
  stabilityPercent: 10,
  maxTrials: 10,
  stringLength: 128,
  sequenceCount: 4,
  sequenceLengthVariation: 20,
  concurrency: "1",
} as const;

/**
 * Measures throughput and latency of a model as perf_analyzer does, from the page that calls it. Rejects with the error of the
 * first request that fails, with INVALID_ARG for options that make no sense, and with the signal's reason.
 */
export function measure(options: MeasureOptions, clock: Clock = createBrowserClock()): Promise<PerfReport> {
  const { client, inputData = "random", percentile } = options;
  return runMeasurement({
    target: createClientTarget(client, options.transport ?? "port"),
    clock,
    modelName: options.modelName,
    modelVersion: options.modelVersion ?? "",
    data: {
      data: typeof inputData === "string" ? { kind: inputData } : inputData,
      batchSize: options.batchSize ?? 1,
      shapes: options.shapes ?? {},
      stringLength: PERF_DEFAULTS.stringLength,
    },
    load: loadOf(options),
    rule: {
      window: {
        kind: "time",
        durationNs: (options.measurementInterval ?? PERF_DEFAULTS.measurementIntervalMs) * 1e6,
      },
      stabilityPercent: options.stabilityPercentage ?? PERF_DEFAULTS.stabilityPercent,
      maxTrials: options.maxTrials ?? PERF_DEFAULTS.maxTrials,
      percentile,
      latencyLimitNs: (options.latencyThreshold ?? 0) * 1e6,
      warmupRequests: options.warmupRequestCount ?? 0,
      requestCount: options.requestCount ?? 0,
    },
    sequences: {
      count: PERF_DEFAULTS.sequenceCount,
      lengthVariation: PERF_DEFAULTS.sequenceLengthVariation,
      idRange: { start: 1 },
      ...(options.sequenceLength !== undefined && { length: options.sequenceLength }),
    },
    parameters: {},
    keepMoments: false,
    onWindow: options.onWindow ?? (() => undefined),
    onLevel: options.onLevel ?? (() => undefined),
    signal: options.signal ?? new AbortController().signal,
  });
}

function loadOf({ concurrencyRange, requestDistribution, requestRateRange }: MeasureOptions): PerfLoad {
  const search = "linear";
  if (requestRateRange === undefined) {
    const text = concurrencyRange ?? PERF_DEFAULTS.concurrency;
    return { kind: "concurrency", range: parseRange(text, "concurrencyRange"), search };
  }
  return {
    kind: "request-rate",
    range: parseRange(requestRateRange, "requestRateRange"),
    search,
    distribution: requestDistribution ?? "constant",
  };
}
