import type { CustomMetric, CustomMetricFamily, CustomMetricUpdate } from "@naiad/core";
import type {
  InferenceRequest,
  InferenceResponse,
  InferenceStreamResponse,
  LogLevel,
  ModelReference,
  RepositoryModelLoad,
  RepositoryModelUnload,
} from "@naiad/protocol";

/** A request of a model, which may belong to the trace of a request that it works on. */
export interface ModelInferRequest extends InferenceRequest {
  readonly traceParentId?: number;
}

/** Everything that a model needs of the server around it. Rejections are InferenceErrors. */
export interface ModelHost {
  log(level: LogLevel, message: string): void;
  /** What goes on now for a request that is traced. */
  traceActivity(traceId: number, activity: string): void;
  /** The request's buffers are the callee's from then on. */
  infer(request: ModelInferRequest, signal: AbortSignal): Promise<InferenceResponse>;
  /** Of a model with any number of responses. Leaving the loop gives the request up. */
  inferStream(request: ModelInferRequest, signal: AbortSignal): AsyncIterable<InferenceStreamResponse>;
  loadModel(input: RepositoryModelLoad): Promise<void>;
  unloadModel(input: RepositoryModelUnload): Promise<void>;
  isModelReady(input: ModelReference): Promise<boolean>;
  readonly metrics: MetricsHost;
}

/** Metrics are the server's: one name is one family for all models and instances. */
export interface MetricsHost {
  /** Rejects with ALREADY_EXISTS where a family of another kind has the name. */
  declare(family: CustomMetricFamily): Promise<void>;
  update(update: CustomMetricUpdate): void;
  value(metric: CustomMetric): Promise<number>;
}

/** The model's files as an instance reads them. */
export interface FileReader {
  readonly paths: readonly string[];
  /** The caller owns the bytes. Rejects with NOT_FOUND. */
  read(path: string): Promise<Uint8Array>;
}
