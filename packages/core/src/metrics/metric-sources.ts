import type { ResponseCacheCounters } from "../scheduling/response-cache/response-cache.ts";
import type { CustomMetrics } from "./custom-metrics.ts";
import type { ServingVersion } from "../lifecycle/serving-version.ts";

/** Everything that the metrics are read from, at the moment they are asked for. */
export interface MetricSources {
  /** In the order in which they are to be told. */
  readonly versions: readonly ServingVersion[];
  readonly latencyCounters: "told" | "left out";
  /** Absent without a response cache. */
  readonly responseCache?: ResponseCacheCounters;
  /** Absent where nothing counts the bytes of requests. */
  readonly requestBytes?: RequestBytes;
  /** Absent where the platform does not tell. */
  readonly machine?: MachineMetrics;
  /** What models keep themselves. */
  readonly custom?: CustomMetrics;
}

/** Bytes of everything accepted and not yet answered. */
export interface RequestBytes {
  readonly inflightBytes: number;
  readonly maxInflightBytes: number;
}

/** What a browser keeps to itself, for whoever runs the server elsewhere. Every member only where its value is known. */
export interface MachineMetrics {
  readonly cpu?: {
    /** 0 to 1, over all cores since the last time. */
    readonly utilization?: number;
    readonly memoryTotalBytes?: number;
    readonly memoryUsedBytes?: number;
  };
  readonly gpus?: readonly GpuMetrics[];
}

export interface GpuMetrics {
  readonly uuid: string;
  /** 0 to 1. */
  readonly utilization?: number;
  readonly memoryTotalBytes?: number;
  readonly memoryUsedBytes?: number;
  readonly powerUsageWatts?: number;
  readonly powerLimitWatts?: number;
  readonly energyJoules?: number;
}
