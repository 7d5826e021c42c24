import type { InferenceError, Parameters, SequenceFlags, Tensor } from "@naiad/protocol";
import type { DeviceMemory } from "../ports.ts";
import type { RequestTrace } from "../trace/request-trace.ts";

/** A request that is valid for its model: the work of `request/inference-request.ts`. */
export interface ValidRequest {
  readonly id: string;
  /** In the order of the configuration, `reshape` applied, batch dimension in front where the model batches. */
  readonly inputs: readonly Tensor[];
  /** Names of the outputs to return, in the order wanted; never empty. */
  readonly outputs: readonly string[];
  /** Those of them that whoever asks takes as tensors on a device too, and then disposes. */
  readonly keepOnDevice?: readonly string[];
  /** Rows; 0 for a model without batching. */
  readonly batchSize: number;
  readonly parameters: Parameters;
  readonly sequence?: SequenceFlags;
  /** 0: the model's default level. */
  readonly priority: number;
  /** 0: none. */
  readonly timeoutUs: number;
}

/** When things happened to one request, on the server's clock. */
export interface RequestTimes {
  readonly queueNs: number;
  readonly computeInputNs: number;
  readonly computeInferNs: number;
  readonly computeOutputNs: number;
}

/** Triton's label of `nv_inference_request_failure`. */
export type FailureReason = "REJECTED" | "CANCELED" | "BACKEND" | "OTHER";

/** A response of a decoupled request: an error is one of them, and others may follow unless it is `final`. */
export type StreamedResponse =
  | {
      readonly kind: "response";
      readonly outputs: readonly Tensor[];
      readonly parameters: Parameters;
      readonly final?: true;
    }
  | { readonly kind: "error"; readonly error: InferenceError; readonly final?: true };

export type RequestOutcome =
  | {
      readonly kind: "response";
      readonly outputs: readonly Tensor[];
      readonly parameters: Parameters;
      /** There where an output lies in it, which the receiver disposes. */
      readonly deviceMemory?: DeviceMemory;
      readonly times: RequestTimes;
      /** Rows that ran in the same execution, for the playground and for tests; 0: it came from the response cache. */
      readonly executedBatchSize: number;
    }
  /** Of a decoupled request: `onResponse` has had every response. */
  | { readonly kind: "end"; readonly times: RequestTimes }
  | { readonly kind: "error"; readonly error: InferenceError; readonly reason: FailureReason };

export interface ScheduledRequest {
  readonly request: ValidRequest;
  readonly signal: AbortSignal;
  /** When the front end handed the request over (`Clock.nowNs`). */
  readonly startNs: number;
  /** Where the request is traced: finished when it is answered. */
  readonly trace?: RequestTrace | undefined;
  /**
   * Takes the responses of a decoupled request, one after the other and all before `respond`. Resolves, and never rejects,
   * when there is room for another. Absent: the request can have one response only.
   */
  readonly onResponse?: (response: StreamedResponse) => Promise<void>;
  /** Called exactly once, never from inside `enqueue`. */
  readonly respond: (outcome: RequestOutcome) => void;
}

export interface KeptStates {
  /** That have begun and not ended. */
  readonly sequences: number;
  /** Of implicit state, in the server's own memory. */
  readonly bytes: number;
}

/**
 * Brings requests of one model version to its instances. Ensembles, sequences and the dynamic batcher are all this.
 */
export interface Scheduler {
  /**
   * Takes the request over. Throws an InferenceError (and then never calls `respond`) where Triton refuses at once:
   * a stopped scheduler, a full queue.
   */
  enqueue(scheduled: ScheduledRequest): void;
  /** Accepted and not yet answered. */
  readonly inflightCount: number;
  /** What it keeps of sequences from one request to the next. Absent where it keeps nothing. */
  readonly keptStates?: () => KeptStates;
  /** Refuses new requests from now on; resolves when every accepted one is answered. Idempotent. */
  stop(): Promise<void>;
}
