import type { ResponseCacheCounters } from "../scheduling/response-cache/response-cache.ts";
import type { GpuAdapter } from "@naiad/protocol";
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
  /** That the server may use. */
  readonly adapters?: readonly GpuAdapter[];
  /** Absent where the server does not know where it runs. */
  readonly place?: PlaceMetrics;
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

/** What the server runs in, as far as that can be seen from inside. */
export interface PlaceMetrics {
  /** Those that live now. */
  readonly workers: readonly WorkerMetrics[];
  /** How many were started since the server began, by what they are for. */
  readonly workerStarts: Readonly<Record<WorkerKind, number>>;
  /** What the model store's origin takes and may take. Absent where the platform does not tell. */
  readonly storage?: { readonly usedBytes: number; readonly quotaBytes: number };
}

/** `cpu` and `gpu` run ONNX models, `javascript` those in JavaScript. */
export const WORKER_KINDS = ["cpu", "gpu", "javascript"] as const;
export type WorkerKind = (typeof WORKER_KINDS)[number];

export interface WorkerMetrics {
  readonly kind: WorkerKind;
  /** Which it is among all, the same for the one that takes its place. */
  readonly name: string;
  /** Memories of WebAssembly modules; they only ever grow. */
  readonly wasmBytes: number;
  /** Buffers that were made on a GPU and neither destroyed nor collected: weights, tensors, what the engine keeps for later. */
  readonly gpuBufferBytes: number;
}

/** What only a process outside of the browser can tell. Every member only where its value is known. */
export interface MachineMetrics {
  /** How many times what the server runs in was started anew. */
  readonly hostRestarts?: number;
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
  /** Since the server started. */
  readonly energyJoules?: number;
}
