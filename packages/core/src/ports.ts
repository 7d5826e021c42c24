import type { ModelConfig } from "@naiad/model-config";
import type {
  DeviceReport,
  DeviceTensor,
  LogLevel,
  Parameters,
  SequenceFlags,
  Tensor,
  Trace,
  WireError,
} from "@naiad/protocol";

/**
 * The holes in the walls of this package: everything the server needs from the place it runs in.
 * Each port has a real adapter on a higher floor and a fake in `@naiad/testing`.
 */

/** Time. All durations inside the server are nanoseconds held in a `number` (exact for 104 days). */
export interface Clock {
  /** Monotonic; its zero has no meaning. */
  nowNs(): number;
  /** Milliseconds since the Unix epoch. */
  epochMs(): number;
  /** The smallest step that `nowNs` was seen to make: no duration is more exact than that. */
  readonly resolutionNs: number;
  /** Calls `wake` once, not before `delayNs` from now and as soon after it as the platform allows. Returns a cancel. */
  after(delayNs: number, wake: () => void): CancelTimer;
}
export type CancelTimer = () => void;

export interface Logger {
  log(level: LogLevel, message: string): void;
}

/** Where traces go. */
export interface TraceSink {
  /** Takes a trace that is whole. Must not throw, and is called while requests are answered: it must not take long. */
  collect(trace: Trace): void;
  /** No more traces come of this setting. */
  settingEnded(setting: { readonly id: number; readonly logFrequency: number }): void;
}

export interface Digest {
  /** Lower-case hexadecimal SHA-256. `bytes` are not kept. */
  sha256(bytes: Uint8Array): Promise<string>;
}

// ---------------------------------------------------------------------------------------------------------------
// What the machine can do

export type { Capabilities, DeviceReport, GpuAdapter, LogLevel } from "@naiad/protocol";

// ---------------------------------------------------------------------------------------------------------------
// Files

/** A file as the manifest names it. `path` is relative to the model's directory, with `/`: `1/model.onnx`. */
export interface ModelFile {
  readonly path: string;
  readonly size: number;
  /** SHA-256 of the whole file, lower-case hexadecimal. */
  readonly sha256: string;
  /** SHA-256 of each 4 MiB chunk in order; the last chunk may be shorter. Empty for an empty file. */
  readonly chunks: readonly string[];
}

/** Bytes per chunk, except the last of a file. */
export const CHUNK_SIZE: number = 4 * 1024 * 1024;

export interface ManifestModel {
  readonly name: string;
  /** Names of all sub-directories of the model's directory, including empty ones such as an ensemble's `1`. */
  readonly directories: readonly string[];
  readonly files: readonly ModelFile[];
}

/** The list of everything in a model repository: what makes static hosting possible. */
export interface RepositoryManifest {
  readonly models: readonly ManifestModel[];
}

/** Where a model repository comes from. */
export interface RepositorySource {
  /** Stable name of the repository, for example its URL. */
  readonly id: string;
  /**
   * The current manifest. Offline the last one that was read may be given; rejects with UNAVAILABLE when there is none.
   */
  manifest(signal: AbortSignal): Promise<RepositoryManifest>;
  /**
   * Bytes `start` (inclusive) to `end` (exclusive) of a file, in pieces as they arrive; each piece belongs to the
   * receiver. Ends early or throws when the transfer breaks; never gives bytes outside the range.
   */
  read(modelName: string, path: string, range: ByteRange, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** How another worker of the same server opens the same store. */
export type StoreLocation =
  { readonly kind: "indexeddb"; readonly name: string } | { readonly kind: "memory" };

/**
 * Verified file content, addressed by hash. A file counts as present when `getFile` knows it, never because some of its
 * chunks exist: the record is written last.
 */
export interface FileStore {
  readonly location: StoreLocation;
  hasChunk(sha256: string): Promise<boolean>;
  /** Resolves when the chunk is durable. The store may keep `bytes`; the caller gives them up. */
  putChunk(sha256: string, bytes: Uint8Array): Promise<void>;
  /** A fresh copy that the caller owns, or `undefined`. */
  getChunk(sha256: string): Promise<Uint8Array | undefined>;
  /** Key: the whole file's SHA-256. */
  getFile(sha256: string): Promise<StoredFile | undefined>;
  putFile(file: StoredFile): Promise<void>;
  files(): Promise<readonly StoredFile[]>;
  /** Removes the record, then its chunks that no remaining record names and no caller has put since. */
  deleteFile(sha256: string): Promise<void>;
  /** Removes every chunk that neither a record nor `kept` names and no caller has put since. */
  sweepChunks(kept: ReadonlySet<string>): Promise<void>;
  /** Small texts kept beside the files, such as the last manifest of a repository. */
  getDocument(key: string): Promise<string | undefined>;
  putDocument(key: string, text: string): Promise<void>;
}

export interface StoredFile {
  readonly sha256: string;
  readonly size: number;
  readonly chunks: readonly string[];
}

/**
 * Locks by which the servers over one store, those of other tabs included, keep each other from removing what they use.
 * They end with the server that holds them.
 */
export interface StoreLocks {
  /** Until the result is called the lock is held, with others that hold it like this. Rejects with the signal's reason. */
  hold(name: string, signal: AbortSignal): Promise<() => void>;
  /** Runs `task` where nobody holds the lock, and nobody can meanwhile; says whether it ran. */
  whileFree(name: string, task: () => Promise<void>): Promise<boolean>;
}

/** The files of one model, all verified and readable without the network. */
export interface ModelFiles {
  readonly entries: readonly ModelFile[];
  /** How a worker can read them by itself. `memory` means it cannot: the bytes must be posted to it. */
  readonly location: StoreLocation;
  /** Whole file or a range of it; the caller owns the bytes. Rejects with NOT_FOUND for a path not in `entries`. */
  read(path: string, range?: ByteRange): Promise<Uint8Array>;
}

// ---------------------------------------------------------------------------------------------------------------
// Backends and instances

/** One version of a model with everything a backend needs to run it. */
export interface ModelSpec {
  readonly modelName: string;
  readonly version: number;
  /** Normalised. */
  readonly config: ModelConfig;
  readonly files: ModelFiles;
}

/** Where an instance is to run: the decision of `placeInstances`. */
export interface InstancePlacement {
  /** `<group name>_<n>` as Triton names instances. */
  readonly instanceName: string;
  readonly device: InstanceDevice;
  /** Instances with equal keys share one worker: GPU instance i of every model lives in GPU worker i. */
  readonly workerKey: string;
  /** Why it is not where the configuration asked for, for log, index and playground. */
  readonly note?: string;
  /** Its results are to be compared with those of the CPU before it serves. */
  readonly verify?: true;
  /** What its group says in `rate_limiter`. */
  readonly rateLimit?: InstanceRateLimit;
}

export interface InstanceRateLimit {
  /** An instance of priority 2 has half the turns of one of priority 1. 0 counts as 1. */
  readonly priority: number;
  /** Units that it holds while it executes. `global`: of one pool for all devices. */
  readonly resources: readonly { readonly name: string; readonly global: boolean; readonly count: number }[];
}

export type InstanceDevice =
  { readonly kind: "cpu"; readonly threads: number } | { readonly kind: "gpu"; readonly adapter: number };

export interface InstanceSpec {
  readonly model: ModelSpec;
  readonly placement: InstancePlacement;
}

export interface Backend {
  /** The word in `backend:` of a model's configuration. */
  readonly name: string;
  /** Where a model goes that does not say; `gpu` where there is one, if absent. */
  readonly preferredDevice?: InstanceDevice["kind"];
  /**
   * Its instances remember something of the requests of a sequence, so that a lost instance ends its sequences. Of others
   * a lost execution is simply repeated; what these were executing when they were lost may have done more than answer, and is
   * not.
   */
  readonly keepsState?: true;
  /**
   * Holds the configuration against the model's files and, where `autoComplete` says so, completes it. Resolves with the
   * configuration to use (not yet normalised again); rejects with Triton's texts.
   */
  prepare(model: ModelSpec, options: PrepareOptions): Promise<ModelConfig>;
  /**
   * Rejects with an InferenceError. Code UNSUPPORTED means that this device cannot run this model and another may.
   * After an abort nothing of the instance is left.
   */
  createInstance(spec: InstanceSpec, signal: AbortSignal): Promise<ModelInstance>;
}

export interface PrepareOptions {
  readonly autoComplete: boolean;
  readonly signal: AbortSignal;
}

/** One request of a batch, already valid for the model. Tensors keep their batch dimension. */
export interface InstanceRequest {
  readonly id: string;
  /**
   * Also the control and state tensors of a sequence batcher. One may lie in the memory of a device, of the instance's own
   * worker or another's; where that worker is gone the request, and it alone, ends with an error.
   */
  readonly inputs: readonly Tensor[];
  /** Names of the outputs wanted; empty for a row that only fills a place in the batch. */
  readonly outputs: readonly string[];
  /** Those of them that may be answered as tensors in the instance's device memory. Others must not. */
  readonly keepOnDevice?: readonly string[];
  /** Rows along the batch dimension; 0 for a model without one. */
  readonly batchSize: number;
  readonly parameters: Parameters;
  /** Microseconds that the client gives it; 0 or absent: any time. */
  readonly timeoutUs?: number;
  /** 0 or absent: the model's default level. */
  readonly priority?: number;
  /** The sequence that it is a step of. */
  readonly sequence?: SequenceFlags;
  /** Its trace, by which requests that the model makes for it belong to it; absent where it is not traced. */
  readonly traceId?: number;
}

export type InstanceResponse =
  | { readonly kind: "response"; readonly outputs: readonly Tensor[]; readonly parameters: Parameters }
  | { readonly kind: "error"; readonly error: WireError };

export type InstanceOutcome =
  | InstanceResponse
  /** Not done yet: the request is to be executed again (iterative sequences). `outputs` are its states so far. */
  | { readonly kind: "reschedule"; readonly outputs: readonly Tensor[] }
  /** All its responses go through the listener, also after the execution until `end`. */
  | { readonly kind: "decoupled" };

/** What an execution has besides its requests. */
export interface ExecuteContext {
  readonly responses: ResponseListener;
  /** One per request: fires when nobody waits for it any more. A decoupled one is to be ended soon after that. */
  readonly signals: readonly AbortSignal[];
}

/**
 * Hears the responses of decoupled requests, during the execution and after it. `index` is that of the request. Whatever
 * comes for a request that has ended, that is executed again or whose instance was lost goes nowhere.
 */
export interface ResponseListener {
  /**
   * Takes the buffers over. Resolves, and never rejects, when there is room for another response: a model that waits for
   * it keeps pace with its reader. `final`: this is the end as well.
   */
  response(index: number, response: InstanceResponse, flags?: { readonly final?: true }): Promise<void>;
  /** No more responses come. `error`: the model failed, and that is what the request ends with. */
  end(index: number, error?: WireError): void;
}

/** Durations of one execution, taken where they happen; each request of a batch is charged all of them. */
export interface ExecutionTimes {
  readonly computeInputNs: number;
  readonly computeInferNs: number;
  readonly computeOutputNs: number;
}

export type ExecutionResult =
  | {
      readonly kind: "completed";
      /** One per request, in their order. */
      readonly outcomes: readonly InstanceOutcome[];
      readonly times: ExecutionTimes;
      /** Outputs in which NaN or an infinity was seen, where the backend looks. */
      readonly nonFiniteOutputs?: number;
      /** Tensors that were read from a device's memory for it, its own outputs among them. */
      readonly readbacks?: number;
    }
  | LossResult;

/**
 * The instance died before it answered. `culprit` says whether this very execution was running when it did (a hang or a
 * crash of its own), or whether it only stood in line behind another.
 */
export interface LossResult {
  readonly kind: "lost";
  readonly reason: string;
  readonly culprit: boolean;
}

/** The memory of a device, in which an instance may leave outputs for others of its worker. */
export interface DeviceMemory {
  /** As in `DeviceTensor.worker`. Instances with equal ones take each other's tensors without reading them. */
  readonly worker: string;
  /** The worker has ended, and everything in this memory with it. */
  readonly isLost: boolean;
  /**
   * To be called exactly once for each tensor that an execution gave; does nothing after a loss. Executions that were
   * handed over before still find the tensor.
   */
  dispose(tensor: DeviceTensor): void;
}

/**
 * A loaded model that runs one batch at a time: it is free for the next when the execution has resolved, although
 * decoupled requests may still be open then. After a loss it is useless: the owner creates another, and what was open is
 * lost.
 */
export interface ModelInstance {
  readonly device: DeviceReport;
  /** Absent where every output is given as bytes. */
  readonly deviceMemory?: DeviceMemory;
  /**
   * Takes over the inputs' buffers only as far as it is their sole owner; the caller keeps what it needs for a retry.
   * Always resolves, also when the worker dies under it. Without a context no decoupled request can be answered.
   */
  execute(requests: readonly InstanceRequest[], context?: ExecuteContext): Promise<ExecutionResult>;
  /** The model's own word on whether it is ready: rejects with the reason why not. Absent where being there is enough. */
  checkReady?(): Promise<void>;
  /** Resolves with the reason if the instance is lost; stays pending for ever after a normal dispose. */
  readonly lost: Promise<string>;
  /** Waits for a running execution, then frees everything; not called while decoupled requests are open. Idempotent. */
  dispose(): Promise<void>;
}
