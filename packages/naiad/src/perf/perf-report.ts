import type { RequestMoments } from "./measured-window.ts";
import type { ServerSplit } from "./server-split.ts";

/** What was measured of a model. Plain data, all times in nanoseconds. */
export interface PerfReport {
  readonly modelName: string;
  readonly modelVersion: string;
  /** The way that requests took: `HTTP`, `gRPC`, `fetch`, `port`. */
  readonly transport: string;
  readonly batchSize: number;
  /** What was varied. */
  readonly load: "concurrency" | "request-rate" | "intervals";
  /** Latencies were judged by this percentile; absent: by their mean. */
  readonly percentile?: number;
  /** In the order of their measurement. */
  readonly levels: readonly PerfLevel[];
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
  /** Of an ensemble's models, by name. */
  readonly composing: Readonly<Record<string, ServerSplit>>;
  /** Of each request, where they are kept. */
  readonly moments: readonly RequestMoments[];
}

/** One window, those that do not count for the result too. */
export interface PerfWindow {
  readonly inferencesPerSecond: number;
  readonly latencyNs: number;
}
