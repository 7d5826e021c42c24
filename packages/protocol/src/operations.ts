import type {
  InferenceRequest,
  InferenceResponse,
  InferenceStreamResponse,
  JsonObject,
  ModelMetadata,
  ModelStatistics,
  RepositoryIndexEntry,
  ServerMetadata,
} from "./messages.ts";
import type { LogSettings, LogSettingsUpdate, TraceSettings, TraceSettingsUpdate } from "./settings.ts";
import type { RequestTracing } from "./trace.ts";
import type {
  CudaSharedMemoryRegion,
  CudaSharedMemoryRegistration,
  SharedMemoryReference,
  SystemSharedMemoryRegion,
  SystemSharedMemoryRegistration,
} from "./shared-memory.ts";

/** A model and, when not empty, one version of it. */
export interface ModelReference {
  readonly modelName: string;
  readonly modelVersion: string;
}

export interface RepositoryModelLoad {
  readonly modelName: string;
  /** JSON text of a ModelConfig that replaces the repository's. */
  readonly config?: string;
  /** Files that replace the model's own, by path relative to the model directory, without the `file:` prefix. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
}

export interface RepositoryModelUnload {
  readonly modelName: string;
  readonly unloadDependents: boolean;
}

/** Input and output of each operation. Keys are the method names of facade, port and client alike. */
export interface OperationTypes {
  serverLive: { input: Record<never, never>; output: { readonly live: boolean } };
  serverReady: { input: Record<never, never>; output: { readonly ready: boolean } };
  serverMetadata: { input: Record<never, never>; output: ServerMetadata };
  modelReady: { input: ModelReference; output: { readonly ready: boolean } };
  modelMetadata: { input: ModelReference; output: ModelMetadata };
  modelConfig: { input: ModelReference; output: JsonObject };
  modelStatistics: { input: ModelReference; output: ModelStatistics };
  modelInfer: { input: InferenceRequest; output: InferenceResponse };
  repositoryIndex: { input: { readonly ready: boolean }; output: readonly RepositoryIndexEntry[] };
  repositoryModelLoad: { input: RepositoryModelLoad; output: Record<never, never> };
  repositoryModelUnload: { input: RepositoryModelUnload; output: Record<never, never> };
  /** Prometheus' text format, version 0.0.4. Rejects with UNSUPPORTED where metrics are switched off. */
  serverMetrics: { input: Record<never, never>; output: { readonly text: string } };
  /** Reads the settings, after `update` where there is one. No name: the global ones. */
  traceSetting: {
    input: { readonly modelName: string; readonly update?: TraceSettingsUpdate };
    output: TraceSettings;
  };
  /** Reads the settings, after `update` where there is one. */
  logSettings: { input: { readonly update?: LogSettingsUpdate }; output: LogSettings };
  systemSharedMemoryStatus: { input: SharedMemoryReference; output: readonly SystemSharedMemoryRegion[] };
  systemSharedMemoryRegister: { input: SystemSharedMemoryRegistration; output: Record<never, never> };
  systemSharedMemoryUnregister: { input: SharedMemoryReference; output: Record<never, never> };
  cudaSharedMemoryStatus: { input: SharedMemoryReference; output: readonly CudaSharedMemoryRegion[] };
  cudaSharedMemoryRegister: { input: CudaSharedMemoryRegistration; output: Record<never, never> };
  cudaSharedMemoryUnregister: { input: SharedMemoryReference; output: Record<never, never> };
}

/** Operations that are answered with any number of items. */
export interface StreamOperationTypes {
  /** Of any model: one that is not decoupled gives one response. */
  modelStreamInfer: { input: InferenceRequest; item: InferenceStreamResponse };
}

export type StreamOperationName = keyof StreamOperationTypes;
export type StreamOperationInput<Name extends StreamOperationName> = StreamOperationTypes[Name]["input"];
export type StreamOperationItem<Name extends StreamOperationName> = StreamOperationTypes[Name]["item"];

export type OperationName = keyof OperationTypes;
export type OperationInput<Name extends OperationName> = OperationTypes[Name]["input"];
export type OperationOutput<Name extends OperationName> = OperationTypes[Name]["output"];

/** Triton's categories of `--http-restricted-api`. */
export const RESTRICTED_CATEGORIES = [
  "health",
  "metadata",
  "inference",
  "shared-memory",
  "model-config",
  "model-repository",
  "statistics",
  "trace",
  "logging",
] as const;
export type RestrictedCategory = (typeof RESTRICTED_CATEGORIES)[number];

/**
 * What a second delivery of the same request may do:
 * `pure` may simply run again; `control` changes the server and is answered from the first run's record.
 * (An inference request that belongs to a sequence counts as control, whatever its row says.)
 */
export type ReplayClass = "pure" | "control";

/** How HTTP reaches something. */
export interface Endpoint {
  readonly methods: readonly HttpMethod[];
  /** Raw-path templates; `{model}`, `{version}`, `{repository}` and `{region}` stand for one path segment. */
  readonly paths: readonly string[];
  /** Absent: nothing restricts it. */
  readonly category?: RestrictedCategory;
  /** Of a POST; a GET changes nothing anywhere. */
  readonly replay: ReplayClass;
}

export type HttpMethod = "GET" | "POST";

export interface Operation extends Endpoint {
  /** Method of `inference.GRPCInferenceService`; absent where that has none. */
  readonly grpc?: string;
}

/**
 * The one table of operations: routes, port methods and client methods follow from it. An operation without paths has no
 * route of its own.
 */
export const OPERATIONS: { readonly [Name in OperationName | StreamOperationName]: Operation } = {
  serverLive: {
    methods: ["GET"],
    paths: ["/v2/health/live"],
    category: "health",
    replay: "pure",
    grpc: "ServerLive",
  },
  serverReady: {
    methods: ["GET"],
    paths: ["/v2/health/ready"],
    category: "health",
    replay: "pure",
    grpc: "ServerReady",
  },
  serverMetadata: {
    methods: ["GET"],
    paths: ["/v2"],
    category: "metadata",
    replay: "pure",
    grpc: "ServerMetadata",
  },
  modelReady: {
    methods: ["GET"],
    paths: ["/v2/models/{model}/ready", "/v2/models/{model}/versions/{version}/ready"],
    category: "health",
    replay: "pure",
    grpc: "ModelReady",
  },
  modelMetadata: {
    methods: ["GET"],
    paths: ["/v2/models/{model}", "/v2/models/{model}/versions/{version}"],
    category: "metadata",
    replay: "pure",
    grpc: "ModelMetadata",
  },
  modelConfig: {
    methods: ["GET"],
    paths: ["/v2/models/{model}/config", "/v2/models/{model}/versions/{version}/config"],
    category: "model-config",
    replay: "pure",
    grpc: "ModelConfig",
  },
  modelStatistics: {
    methods: ["GET"],
    paths: ["/v2/models/stats", "/v2/models/{model}/stats", "/v2/models/{model}/versions/{version}/stats"],
    category: "statistics",
    replay: "pure",
    grpc: "ModelStatistics",
  },
  modelInfer: {
    methods: ["POST"],
    paths: ["/v2/models/{model}/infer", "/v2/models/{model}/versions/{version}/infer"],
    category: "inference",
    replay: "pure",
    grpc: "ModelInfer",
  },
  // What HTTP has of it is `generateStream`.
  modelStreamInfer: {
    methods: [],
    paths: [],
    category: "inference",
    replay: "pure",
    grpc: "ModelStreamInfer",
  },
  repositoryIndex: {
    methods: ["POST"],
    paths: ["/v2/repository/index", "/v2/repository/{repository}/index"],
    category: "model-repository",
    replay: "pure",
    grpc: "RepositoryIndex",
  },
  repositoryModelLoad: {
    methods: ["POST"],
    paths: ["/v2/repository/models/{model}/load", "/v2/repository/{repository}/models/{model}/load"],
    category: "model-repository",
    replay: "control",
    grpc: "RepositoryModelLoad",
  },
  repositoryModelUnload: {
    methods: ["POST"],
    paths: ["/v2/repository/models/{model}/unload", "/v2/repository/{repository}/models/{model}/unload"],
    category: "model-repository",
    replay: "control",
    grpc: "RepositoryModelUnload",
  },
  serverMetrics: {
    methods: ["GET"],
    // Triton serves nothing else on the port of its metrics, and no category restricts it.
    paths: ["/metrics", "/metrics/"],
    replay: "pure",
  },
  traceSetting: {
    methods: ["GET", "POST"],
    paths: ["/v2/trace/setting", "/v2/models/{model}/trace/setting"],
    category: "trace",
    replay: "control",
    grpc: "TraceSetting",
  },
  logSettings: {
    methods: ["GET", "POST"],
    paths: ["/v2/logging"],
    category: "logging",
    replay: "control",
    grpc: "LogSettings",
  },
  systemSharedMemoryStatus: {
    methods: ["GET"],
    paths: ["/v2/systemsharedmemory/status", "/v2/systemsharedmemory/region/{region}/status"],
    category: "shared-memory",
    replay: "pure",
    grpc: "SystemSharedMemoryStatus",
  },
  systemSharedMemoryRegister: {
    methods: ["POST"],
    paths: ["/v2/systemsharedmemory/register", "/v2/systemsharedmemory/region/{region}/register"],
    category: "shared-memory",
    replay: "control",
    grpc: "SystemSharedMemoryRegister",
  },
  systemSharedMemoryUnregister: {
    methods: ["POST"],
    paths: ["/v2/systemsharedmemory/unregister", "/v2/systemsharedmemory/region/{region}/unregister"],
    category: "shared-memory",
    replay: "control",
    grpc: "SystemSharedMemoryUnregister",
  },
  cudaSharedMemoryStatus: {
    methods: ["GET"],
    paths: ["/v2/cudasharedmemory/status", "/v2/cudasharedmemory/region/{region}/status"],
    category: "shared-memory",
    replay: "pure",
    grpc: "CudaSharedMemoryStatus",
  },
  cudaSharedMemoryRegister: {
    methods: ["POST"],
    paths: ["/v2/cudasharedmemory/register", "/v2/cudasharedmemory/region/{region}/register"],
    category: "shared-memory",
    replay: "control",
    grpc: "CudaSharedMemoryRegister",
  },
  cudaSharedMemoryUnregister: {
    methods: ["POST"],
    paths: ["/v2/cudasharedmemory/unregister", "/v2/cudasharedmemory/region/{region}/unregister"],
    category: "shared-memory",
    replay: "control",
    grpc: "CudaSharedMemoryUnregister",
  },
};

/** Endpoints that only HTTP has: other words for `modelInfer` and `modelStreamInfer`. */
export type HttpOnlyName = "generate" | "generateStream";

export const HTTP_ONLY: { readonly [Name in HttpOnlyName]: Endpoint } = {
  generate: {
    methods: ["POST"],
    paths: ["/v2/models/{model}/generate", "/v2/models/{model}/versions/{version}/generate"],
    category: "inference",
    replay: "pure",
  },
  generateStream: {
    methods: ["POST"],
    paths: ["/v2/models/{model}/generate_stream", "/v2/models/{model}/versions/{version}/generate_stream"],
    category: "inference",
    replay: "pure",
  },
};

/** What accompanies every operation on its way. */
export interface OperationContext {
  /** Fires when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /**
   * Of an inference request that an end point has asked the server's tracing about, or that a model makes. Absent: the server
   * decides whether it is traced.
   */
  readonly trace?: RequestTracing;
}

export type UnaryOperationHandlers = {
  readonly [Name in OperationName]: (
    input: OperationInput<Name>,
    context: OperationContext,
  ) => Promise<OperationOutput<Name>>;
};

/** One method per operation: implemented by the server's facade and by everything that forwards to it. */
export type OperationHandlers = UnaryOperationHandlers & {
  /**
   * Rejects with what the request is refused with; resolves once it has been taken on. The items are for one reader, who
   * ends the request by leaving the loop. Nothing more is produced than the reader and a small store can take. The end is
   * the end of the items; whatever else ends them throws.
   */
  readonly [Name in StreamOperationName]: (
    input: StreamOperationInput<Name>,
    context: OperationContext,
  ) => Promise<AsyncIterable<StreamOperationItem<Name>>>;
};
