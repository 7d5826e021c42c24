import type { InferenceRequest, JsonObject, ModelMetadata, ModelStatistics, Tensor } from "@naiad/protocol";

/** One way to a server, for measuring it. All reject with an InferenceError. */
export interface PerfTarget {
  /** For the report: `HTTP`, `gRPC`, `fetch`, `port`. */
  readonly name: string;
  modelMetadata(modelName: string, modelVersion: string): Promise<ModelMetadata>;
  /** `undefined` where the server does not tell configurations. */
  modelConfig(modelName: string, modelVersion: string): Promise<JsonObject | undefined>;
  /** Of every version; `undefined` where the server keeps none. */
  modelStatistics(modelName: string): Promise<ModelStatistics | undefined>;
  /**
   * Resolves after the last response. The request and its tensors stay the caller's, who sends the same again: what has to be
   * made of them may be kept.
   */
  infer(request: InferenceRequest, signal: AbortSignal): Promise<InferAnswer>;
}

/** What of an inference only its target can tell. */
export interface InferAnswer {
  /** Those with outputs. */
  readonly responses: number;
  /** Until the request was handed to the network. */
  readonly sendNs?: number;
  /** From the first byte of the answer to its last. */
  readonly receiveNs?: number;
  /** When each response came, counted from the sending. Absent: the one that there is came at the end. */
  readonly responseNs?: readonly number[];
  /** Of the first response. Throws where they cannot be read. */
  readonly outputs: () => readonly Tensor[];
}
