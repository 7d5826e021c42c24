import type { LogLevel } from "@naiad/protocol";
import type { InferenceResponse } from "./inference-response.ts";
import type { Tensor } from "./tensor.ts";

/** A parameter of a request. Whole numbers beyond 2^53 are bigints. */
export type RequestParameter = string | boolean | number | bigint;

/** One request of a batch: requests of a batch come side by side, never joined to one. */
export interface InferenceRequest {
  readonly requestId: string;
  /** Also the control tensors of a sequence batcher. */
  readonly inputs: readonly Tensor[];
  input(name: string): Tensor | undefined;
  readonly requestedOutputNames: readonly string[];
  /** 0 where the request belongs to no sequence. */
  readonly correlationId: string | number | bigint;
  /** `triton.SEQUENCE_START` and `triton.SEQUENCE_END`. */
  readonly flags: number;
  /** Microseconds that the client gives it; 0: any time. */
  readonly timeout: number;
  /** 0: the model's default level. */
  readonly priority: number;
  readonly parameters: Readonly<Record<string, RequestParameter>>;
  /** Fires when nobody waits for the answer any more; any answer will do then. */
  readonly signal: AbortSignal;
  isCancelled(): boolean;
  /**
   * To be handed on with requests that the model makes for this one, so that they are traced with it. `undefined` where it is
   * not traced.
   */
  trace(): InferenceTrace | undefined;
  /** For answers one by one. `execute` gives null in the place of this request's response then. */
  getResponseSender(): ResponseSender;
  /** `triton.REQUEST_RELEASE_RESCHEDULE`: executed again later. Only with `iterative_sequence`. */
  setReleaseFlags(flags: number): void;
}

/** The trace of a request, while it is worked on. */
export interface InferenceTrace {
  /** What goes on now. Where traces are spans, from `<name>_START` to `<name>_END` is one. */
  reportActivity(name: string): void;
}

export interface ResponseSender {
  /**
   * Sends a response, or with `triton.RESPONSE_COMPLETE_FINAL` ends the request, with a last response or without. Throws
   * at once what is wrong with the call. The promise resolves when the reader is ready for more and never rejects.
   */
  send(response: InferenceResponse | null | undefined, flags?: number): Promise<void>;
  isCancelled(): boolean;
}

export interface Logger {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
  verbose(message: string): void;
  log(message: string, level?: LogLevel): void;
}

/** Files of the model's directory, those of other versions left out. */
export interface ModelFiles {
  /** `labels.txt`, `1/vocabulary.json`. */
  readonly paths: readonly string[];
  /** Rejects with NOT_FOUND for a path that is not there. */
  read(path: string): Promise<Uint8Array<ArrayBuffer>>;
  readText(path: string): Promise<string>;
  readJson(path: string): Promise<unknown>;
}

export type MetricKind = "counter" | "gauge" | "histogram";

export interface MetricFamilyOptions {
  readonly name: string;
  readonly description: string;
  readonly kind: MetricKind;
}

export interface MetricOptions {
  readonly labels?: Readonly<Record<string, string>>;
  /** Upper bounds, ascending; a histogram needs them. */
  readonly buckets?: readonly number[];
}

export interface MetricFamily {
  metric(options?: MetricOptions): Metric;
}

/** Values are the server's: metrics of one name and labels are one, whichever instance writes them. */
export interface Metric {
  increment(by: number): void;
  /** Of a gauge. */
  set(value: number): void;
  /** Of a histogram. */
  observe(value: number): void;
  /** Of a counter or a gauge. */
  value(): Promise<number>;
}

/** A request to another model of the server. */
export interface InferRequest {
  readonly modelName: string;
  /** Absent: the version that the model's policy chooses. */
  readonly modelVersion?: string | number;
  readonly inputs: readonly Tensor[];
  /** Absent or empty: all outputs. */
  readonly requestedOutputNames?: readonly string[];
  readonly requestId?: string;
  /** Of a sequence. */
  readonly correlationId?: string | number | bigint;
  /** `triton.SEQUENCE_START` and `triton.SEQUENCE_END`. */
  readonly flags?: number;
  /** 1 is the first; what the model has no level for is its default level. */
  readonly priority?: number;
  /** Whole microseconds. */
  readonly timeout?: number;
  readonly parameters?: Readonly<Record<string, RequestParameter>>;
  /** Gives the request up, for example `request.signal`. */
  readonly signal?: AbortSignal;
  /** Of the request that this one is made for: `request.trace()`. */
  readonly trace?: InferenceTrace | undefined;
}

export interface LoadModelOptions {
  /** JSON text of a ModelConfig in the place of the repository's. */
  readonly config?: string;
  /** Files in the place of the model's own, by path. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
}

/** Everything that a model is given, once, before it executes. */
export interface ModelArgs {
  /** JSON text. */
  readonly modelConfig: string;
  readonly modelName: string;
  readonly modelVersion: string;
  readonly modelInstanceName: string;
  readonly modelInstanceKind: "CPU" | "GPU";
  readonly modelInstanceDeviceId: string;
  /** Of the model's directory, for texts. */
  readonly modelRepository: string;
  readonly files: ModelFiles;
  readonly logger: Logger;
  /** Rejects with ALREADY_EXISTS where the name belongs to a family of another kind. */
  readonly metricFamily: (options: MetricFamilyOptions) => Promise<MetricFamily>;
  /**
   * Asks another model. What goes wrong there stands in the response's `error`; rejects only for arguments that no server
   * would take, and outside of `execute`.
   */
  readonly infer: (request: InferRequest) => Promise<InferenceResponse>;
  /** The same for a model with any number of responses. An error is the last of them. */
  readonly inferStream: (request: InferRequest) => AsyncIterable<InferenceResponse>;
  /** Rejects where the model cannot be loaded. */
  readonly loadModel: (modelName: string, options?: LoadModelOptions) => Promise<void>;
  readonly unloadModel: (
    modelName: string,
    options?: { readonly unloadDependents?: boolean },
  ) => Promise<void>;
  readonly isModelReady: (modelName: string, modelVersion?: string | number) => Promise<boolean>;
}

/** What `execute` gives for each request, in their order: its response, or null where it was answered or rescheduled. */
export type ExecuteResult =
  | readonly (InferenceResponse | null | undefined)[]
  | null
  | undefined
  // eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- for methods that return nothing
  | void;

/** An instance of a model's default-exported class. */
export interface Model {
  initialize?(args: ModelArgs): void | Promise<void>;
  execute(requests: readonly InferenceRequest[]): ExecuteResult | Promise<ExecuteResult>;
  finalize?(): void | Promise<void>;
  isReady?(): boolean | Promise<boolean>;
}

export interface ConfigTensor {
  readonly name: string;
  /** `TYPE_FP32` */
  readonly data_type: string;
  readonly dims: readonly number[];
}

/** The model's configuration while it is completed. Throws where it says something else already. */
export interface AutoCompleteConfig {
  /** As JSON has it. */
  asDict(): Record<string, unknown>;
  setMaxBatchSize(size: number): void;
  setDynamicBatching(): void;
  addInput(input: ConfigTensor & { readonly optional?: boolean }): void;
  addOutput(output: ConfigTensor): void;
  setModelTransactionPolicy(policy: { readonly decoupled: boolean }): void;
}

/** The default export of `model.js`. */
export interface ModelClass {
  new (): Model;
  /** Called before any instance is made, where the server completes configurations. Must return what it was given. */
  autoCompleteConfig?(config: AutoCompleteConfig): AutoCompleteConfig | Promise<AutoCompleteConfig>;
}
