import type { RequestMoments } from "./measured-window.ts";
import type { ServerMetrics } from "./server-metrics.ts";
import type { ComposingSplit, ServerSplit } from "./server-split.ts";

/** What was measured of a model. Plain data, all times in nanoseconds. */
export interface PerfReport extends PerfReportHead {
  /** In the order of their measurement. */
  readonly levels: readonly PerfLevel[];
}

/** What is known before the first request. */
export interface PerfReportHead {
  readonly modelName: string;
  readonly modelVersion: string;
  /** The way that requests took: `HTTP`, `gRPC`, `fetch`, `port`. */
  readonly transport: string;
  readonly batchSize: number;
  /** What was varied. */
  readonly load: "concurrency" | "request-rate" | "intervals";
  /** Latencies were judged by this percentile; absent: by their mean. */
  readonly percentile?: number;
  /** Milliseconds since the epoch at which the clock of all moments stood at 0. */
  readonly clockOriginMs: number;
}

export interface PerfLevel {
  /** Requests on their way, or requests a second. */
  readonly value: number;
  readonly outcome:
    | "stable"
    /** The windows still differed after as many as there may be. */
    | "unstable"
    | "over-limit"
    /** As many requests as were asked for, in one window. */
    | "counted";
  readonly windows: readonly PerfWindow[];
  readonly requests: number;
  /** More than requests for a decoupled model. */
  readonly responses: number;
  /** Sequences that ended; 0 for a model without. */
  readonly sequences: number;
  /** How many were sent a second. */
  readonly sendsPerSecond: number;
  readonly durationNs: number;
  readonly inferencesPerSecond: number;
  readonly responsesPerSecond: number;
  readonly latency: {
    readonly meanNs: number;
    readonly stdDevNs: number;
    readonly p50Ns: number;
    readonly p90Ns: number;
    readonly p95Ns: number;
    readonly p99Ns: number;
    readonly maxNs: number;
    /** By the percentile that was chosen, else the mean. */
    readonly judgedNs: number;
  };
  /** Means, where the transport tells them. */
  readonly phases?: { readonly sendNs: number; readonly receiveNs: number };
  /** Requests that the client itself sent late: the machine was too busy for this rate. */
  readonly delayedRequests: number;
  /** Absent where the server keeps no statistics. */
  readonly server?: ServerSplit;
  /** Of an ensemble's models, and of those that were named as called by it. */
  readonly composing: readonly ComposingSplit[];
  /** Where metrics were asked for. */
  readonly metrics?: ServerMetrics;
  /** When the first of the windows began, and when each ended. */
  readonly windowBoundariesNs: readonly number[];
  /** Of each request, where they are kept. */
  readonly moments: readonly RequestMoments[];
}

/** One window, those that do not count for the result too. */
export interface PerfWindow {
  readonly inferencesPerSecond: number;
  readonly latencyNs: number;
  readonly stdDevNs: number;
}
