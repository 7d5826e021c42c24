import type { WireError } from "./status.ts";
import type { Tensor } from "./tensor.ts";

/** A JSON value with integers beyond 2^53 kept exact. */
export type JsonValue = null | boolean | number | bigint | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** A custom parameter: int64 is a `bigint`, double a `number`. */
export type ParameterValue = string | boolean | bigint | number;
export type Parameters = Readonly<Record<string, ParameterValue>>;

export interface SequenceFlags {
  readonly id: string | bigint;
  readonly start: boolean;
  readonly end: boolean;
}

export interface RequestedOutput {
  readonly name: string;
  /** The `classification` extension: the number of best classes, absent when the tensor itself is wanted. */
  readonly classCount?: number;
}

/** An inference request as it arrives, before it is held against a model's configuration. */
export interface InferenceRequest {
  readonly modelName: string;
  /** A version number as text; `""` is the highest ready version. */
  readonly modelVersion: string;
  /** The client's id, `""` when none was given. */
  readonly id: string;
  readonly parameters: Parameters;
  readonly sequence?: SequenceFlags;
  /** 0 or absent: the model's default priority level. */
  readonly priority?: number;
  /** Microseconds; 0 or absent: none. */
  readonly timeoutUs?: number;
  readonly inputs: readonly Tensor[];
  /** Empty: all outputs of the model. */
  readonly outputs: readonly RequestedOutput[];
}

export interface InferenceResponse {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: Parameters;
  readonly outputs: readonly Tensor[];
}

/**
 * One of the responses to a streamed request. With `error` it carries no outputs and says what became of this response
 * alone: others may follow.
 */
export interface InferenceStreamResponse extends InferenceResponse {
  readonly error?: WireError;
  /** No other follows. Absent also where that is not known yet. */
  readonly final?: true;
}

export interface ServerMetadata {
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
  /** Beyond Triton. */
  readonly parameters?: ServerParameters;
}

/** What one has to know about the place the server runs in. */
export interface ServerParameters {
  /** Of the clock behind every duration in statistics and metrics. */
  readonly clock_resolution_ns: number;
}

export interface TensorMetadata {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
}

export interface ModelMetadata {
  readonly name: string;
  readonly versions: readonly string[];
  readonly platform: string;
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
}

/** A number of events and their summed duration in nanoseconds. */
export interface StatisticDuration {
  readonly count: number;
  readonly ns: number;
}

export interface InferStatistics {
  readonly success: StatisticDuration;
  readonly fail: StatisticDuration;
  readonly queue: StatisticDuration;
  readonly compute_input: StatisticDuration;
  readonly compute_infer: StatisticDuration;
  readonly compute_output: StatisticDuration;
  readonly cache_hit: StatisticDuration;
  readonly cache_miss: StatisticDuration;
}

/** Of the responses with one index. `success` and `fail` are the sum of both computes. */
export interface ResponseStatistics {
  readonly compute_infer: StatisticDuration;
  readonly compute_output: StatisticDuration;
  readonly success: StatisticDuration;
  readonly fail: StatisticDuration;
  /** Ends without a response. */
  readonly empty_response: StatisticDuration;
  /** How long models took to let go of cancelled requests. */
  readonly cancel: StatisticDuration;
}

export interface BatchStatistics {
  readonly batch_size: number;
  readonly compute_input: StatisticDuration;
  readonly compute_infer: StatisticDuration;
  readonly compute_output: StatisticDuration;
}

export interface MemoryUsage {
  readonly type: "CPU" | "GPU" | "CPU_PINNED";
  readonly id: number;
  readonly byte_size: number;
}

export interface ModelVersionStatistics {
  readonly name: string;
  readonly version: string;
  /** Milliseconds since the epoch of the last execution, 0 before the first. */
  readonly last_inference: number;
  readonly inference_count: number;
  readonly execution_count: number;
  readonly inference_stats: InferStatistics;
  /** By index of the response, as text; only of decoupled models. */
  readonly response_stats: Readonly<Record<string, ResponseStatistics>>;
  readonly batch_stats: readonly BatchStatistics[];
  readonly memory_usage: readonly MemoryUsage[];
  /** Beyond Triton: executions by what kept their batches from being larger. docs/guide/metrics.md tells the keys. */
  readonly batch_limits?: Readonly<Record<string, number>>;
}

export interface ModelStatistics {
  readonly model_stats: readonly ModelVersionStatistics[];
}

export type ModelState = "UNKNOWN" | "READY" | "UNAVAILABLE" | "LOADING" | "UNLOADING";

/** One line of the repository index. `version`, `state` and `reason` are absent where they say nothing. */
export interface RepositoryIndexEntry {
  readonly name: string;
  readonly version?: string;
  readonly state?: ModelState;
  readonly reason?: string;
  /** Beyond Triton: what the instances of a ready version really run on. */
  readonly instances?: readonly IndexedInstance[];
}

export interface IndexedInstance {
  readonly name: string;
  readonly execution_provider: string;
  /** Which build of the engine: `wasm`, `jspi`, `asyncify`. */
  readonly build: string;
  readonly adapter?: string;
  readonly threads: number;
  /** Outputs in which NaN or an infinity was seen, where there was one. */
  readonly non_finite_outputs?: number;
}
