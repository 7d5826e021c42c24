import type {
  CudaSharedMemoryRegion,
  JsonObject,
  LogSettings,
  LogSettingsUpdate,
  ModelMetadata,
  ModelStatistics,
  RepositoryIndexEntry,
  ServerMetadata,
  SystemSharedMemoryRegion,
  TraceSettings,
  TraceSettingsUpdate,
} from "@naiad/protocol";
import { InferenceError, optionText, stringifyJson } from "@naiad/protocol";
import type { InferCall } from "./infer-request.ts";
import { prepareInfer } from "./infer-request.ts";
import type { InferResult } from "./infer-result.ts";
import { inferResult } from "./infer-result.ts";
import type { Transport, TransportOptions } from "./transport.ts";

export interface ClientOptions {
  /** Abort rejects at once with CANCELLED. */
  readonly signal?: AbortSignal;
}

export interface ModelOptions extends ClientOptions {
  /** Absent: the version that the model's policy chooses, or all of them where several can be told of. */
  readonly modelVersion?: string;
}

export interface IndexOptions extends ClientOptions {
  /** Only models that are ready. */
  readonly ready?: boolean;
}

export interface LoadOptions extends ClientOptions {
  /** A ModelConfig that replaces the repository's: JSON text, or the value. */
  readonly config?: string | JsonObject;
  /**
   * Files that replace the model's own, by path relative to its directory, with or without Triton's `file:` before it.
   * They need a `config` too.
   */
  readonly files?: Readonly<Record<string, Uint8Array>>;
}

export interface UnloadOptions extends ClientOptions {
  /** Also the models that only this ensemble needs. */
  readonly unloadDependents?: boolean;
}

export interface TraceOptions extends ClientOptions {
  /** Whose settings. Absent: the global ones. */
  readonly modelName?: string;
}

export interface SystemSharedMemory {
  readonly key: string;
  readonly byteSize: number;
  /** Default 0. */
  readonly offset?: number;
}

export interface CudaSharedMemory {
  readonly rawHandle: Uint8Array;
  readonly deviceId: number;
  readonly byteSize: number;
}

/** The methods of Triton's own client library, over any transport. All reject with an InferenceError. */
export interface InferenceClient {
  serverLive(options?: ClientOptions): Promise<boolean>;
  serverReady(options?: ClientOptions): Promise<boolean>;
  /** `false` also for a model or version that the server does not know. */
  modelReady(modelName: string, options?: ModelOptions): Promise<boolean>;
  serverMetadata(options?: ClientOptions): Promise<ServerMetadata>;
  /**
   * The text that `GET <base>metrics` answers with. Rejects with UNSUPPORTED where the server has them switched off. A real
   * Triton has them on a port of their own, so over HTTP they need a client with that address.
   */
  metrics(options?: ClientOptions): Promise<string>;
  modelMetadata(modelName: string, options?: ModelOptions): Promise<ModelMetadata>;
  modelConfig(modelName: string, options?: ModelOptions): Promise<JsonObject>;
  /** Of one model, or of all where the name is absent. */
  modelStatistics(modelName?: string, options?: ModelOptions): Promise<ModelStatistics>;
  repositoryIndex(options?: IndexOptions): Promise<readonly RepositoryIndexEntry[]>;
  /** Resolves when the model is ready. */
  loadModel(modelName: string, options?: LoadOptions): Promise<void>;
  /** Resolves when the model takes no more requests; running ones may still finish. */
  unloadModel(modelName: string, options?: UnloadOptions): Promise<void>;
  /**
   * The caller's arrays are read before this returns and may be changed afterwards; they are detached only by
   * `transfer: true`. Rejects with INVALID_ARG, before anything is sent, where data, shape and datatype do not fit.
   */
  infer(call: InferCall, options?: ClientOptions): Promise<InferResult>;
  /**
   * For a decoupled model, with any number of responses; any other model gives one. The request is sent, and the caller's
   * arrays are read, when the loop begins. Leaving the loop or an abort ends the request in the model, and a loop that is
   * slow slows the model down. Throws what `infer` rejects with, also the error of a single response, which ends the loop
   * then. Over fetch there is none: UNSUPPORTED.
   */
  inferStream(call: InferCall, options?: ClientOptions): AsyncIterable<InferResult>;
  traceSettings(options?: TraceOptions): Promise<TraceSettings>;
  /** Resolves with the settings that hold then. */
  updateTraceSettings(update: TraceSettingsUpdate, options?: TraceOptions): Promise<TraceSettings>;
  logSettings(options?: ClientOptions): Promise<LogSettings>;
  /** Resolves with the settings that hold then. */
  updateLogSettings(update: LogSettingsUpdate, options?: ClientOptions): Promise<LogSettings>;
  /** Of one region, or of all where the name is absent. Naiad has none and registers none; a real Triton may. */
  systemSharedMemoryStatus(
    regionName?: string,
    options?: ClientOptions,
  ): Promise<readonly SystemSharedMemoryRegion[]>;
  registerSystemSharedMemory(
    regionName: string,
    memory: SystemSharedMemory,
    options?: ClientOptions,
  ): Promise<void>;
  unregisterSystemSharedMemory(regionName?: string, options?: ClientOptions): Promise<void>;
  cudaSharedMemoryStatus(
    regionName?: string,
    options?: ClientOptions,
  ): Promise<readonly CudaSharedMemoryRegion[]>;
  registerCudaSharedMemory(
    regionName: string,
    memory: CudaSharedMemory,
    options?: ClientOptions,
  ): Promise<void>;
  unregisterCudaSharedMemory(regionName?: string, options?: ClientOptions): Promise<void>;
}

/** Throws a `TypeError` for what is no transport. */
export function createInferenceClient(transport: Transport): InferenceClient {
  checkTransport(transport);
  return {
    async serverLive(options) {
      return (await transport.call("serverLive", {}, passOn(options))).live;
    },
    async serverReady(options) {
      return (await transport.call("serverReady", {}, passOn(options))).ready;
    },
    async modelReady(modelName, options) {
      try {
        const { ready } = await transport.call("modelReady", reference(modelName, options), passOn(options));
        return ready;
      } catch (thrown) {
        if (thrown instanceof InferenceError && thrown.code === "NOT_FOUND") return false;
        throw thrown;
      }
    },
    serverMetadata: (options) => transport.call("serverMetadata", {}, passOn(options)),
    async metrics(options) {
      return (await transport.call("serverMetrics", {}, passOn(options))).text;
    },
    modelMetadata: (modelName, options) =>
      transport.call("modelMetadata", reference(modelName, options), passOn(options)),
    modelConfig: (modelName, options) =>
      transport.call("modelConfig", reference(modelName, options), passOn(options)),
    modelStatistics: (modelName = "", options = {}) =>
      transport.call("modelStatistics", reference(modelName, options), passOn(options)),
    repositoryIndex: (options) =>
      transport.call("repositoryIndex", { ready: options?.ready === true }, passOn(options)),
    async loadModel(modelName, options = {}) {
      const { config, files } = options;
      const load = {
        modelName,
        ...(config !== undefined && { config: typeof config === "string" ? config : stringifyJson(config) }),
        ...(files !== undefined && { files: withoutPrefix(files) }),
      };
      await transport.call("repositoryModelLoad", load, passOn(options));
    },
    async unloadModel(modelName, options) {
      const unload = { modelName, unloadDependents: options?.unloadDependents === true };
      await transport.call("repositoryModelUnload", unload, passOn(options));
    },
    async infer(call, options) {
      const { request, transfer } = prepareInfer(call);
      return inferResult(await transport.call("modelInfer", request, { ...passOn(options), transfer }));
    },
    async *inferStream(call, options) {
      const { request, transfer } = prepareInfer(call);
      const responses = transport.stream("modelStreamInfer", request, { ...passOn(options), transfer });
      for await (const response of responses) {
        if (response.error !== undefined) throw InferenceError.from(response.error);
        yield inferResult(response);
      }
    },
    traceSettings: ({ modelName = "", ...options } = {}) =>
      transport.call("traceSetting", { modelName }, passOn(options)),
    updateTraceSettings: (update, { modelName = "", ...options } = {}) =>
      transport.call("traceSetting", { modelName, update }, passOn(options)),
    logSettings: (options) => transport.call("logSettings", {}, passOn(options)),
    updateLogSettings: (update, options) => transport.call("logSettings", { update }, passOn(options)),
    systemSharedMemoryStatus: (regionName = "", options = {}) =>
      transport.call("systemSharedMemoryStatus", { regionName }, passOn(options)),
    async registerSystemSharedMemory(regionName, { key, byteSize, offset = 0 }, options) {
      const registration = { regionName, key, byteSize, offset };
      await transport.call("systemSharedMemoryRegister", registration, passOn(options));
    },
    async unregisterSystemSharedMemory(regionName = "", options = {}) {
      await transport.call("systemSharedMemoryUnregister", { regionName }, passOn(options));
    },
    cudaSharedMemoryStatus: (regionName = "", options = {}) =>
      transport.call("cudaSharedMemoryStatus", { regionName }, passOn(options)),
    async registerCudaSharedMemory(regionName, { rawHandle, deviceId, byteSize }, options) {
      const registration = { regionName, rawHandle, deviceId, byteSize };
      await transport.call("cudaSharedMemoryRegister", registration, passOn(options));
    },
    async unregisterCudaSharedMemory(regionName = "", options = {}) {
      await transport.call("cudaSharedMemoryUnregister", { regionName }, passOn(options));
    },
  };
}

/** For callers that no type checker has seen. */
function checkTransport(transport: Partial<Transport> | null | undefined): void {
  if (typeof transport?.call === "function") return;
  throw new TypeError(
    `createInferenceClient needs a transport, such as createFetchTransport({ url }), but got ${optionText(transport)}`,
  );
}

function reference(
  modelName: string,
  options: ModelOptions = {},
): { readonly modelName: string; readonly modelVersion: string } {
  return { modelName, modelVersion: options.modelVersion ?? "" };
}

function passOn(options: ClientOptions = {}): TransportOptions {
  return options.signal === undefined ? {} : { signal: options.signal };
}

function withoutPrefix(files: Readonly<Record<string, Uint8Array>>): Record<string, Uint8Array> {
  return Object.fromEntries(
    Object.entries(files).map(([path, bytes]) => [path.replace(/^file:/, ""), bytes]),
  );
}
