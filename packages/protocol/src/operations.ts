import type {
  InferenceRequest,
  InferenceResponse,
  JsonObject,
  ModelMetadata,
  ModelStatistics,
  RepositoryIndexEntry,
  ServerMetadata,
} from "./messages.ts";

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
}

export type OperationName = keyof OperationTypes;
export type OperationInput<Name extends OperationName> = OperationTypes[Name]["input"];
export type OperationOutput<Name extends OperationName> = OperationTypes[Name]["output"];

/** Triton's categories of `--http-restricted-api`. */
export type RestrictedCategory =
  | "health"
  | "metadata"
  | "inference"
  | "shared-memory"
  | "model-config"
  | "model-repository"
  | "statistics"
  | "trace"
  | "logging";

/**
 * What a second delivery of the same request may do:
 * `pure` may simply run again; `control` changes the server and is answered from the first run's record.
 * (An inference request that belongs to a sequence counts as control, whatever its row says.)
 */
export type ReplayClass = "pure" | "control";

export interface Operation {
  readonly method: "GET" | "POST";
  /** Raw-path templates; `{model}`, `{version}` and `{repository}` stand for one path segment. */
  readonly paths: readonly string[];
  readonly category: RestrictedCategory;
  readonly replay: ReplayClass;
  /** Method of `inference.GRPCInferenceService`. */
  readonly grpc: string;
}

/** The one table of operations: routes, port methods and client methods follow from it. */
export const OPERATIONS: { readonly [Name in OperationName]: Operation } = {
  serverLive: {
    method: "GET",
    paths: ["/v2/health/live"],
    category: "health",
    replay: "pure",
    grpc: "ServerLive",
  },
  serverReady: {
    method: "GET",
    paths: ["/v2/health/ready"],
    category: "health",
    replay: "pure",
    grpc: "ServerReady",
  },
  serverMetadata: {
    method: "GET",
    paths: ["/v2"],
    category: "metadata",
    replay: "pure",
    grpc: "ServerMetadata",
  },
  modelReady: {
    method: "GET",
    paths: ["/v2/models/{model}/ready", "/v2/models/{model}/versions/{version}/ready"],
    category: "health",
    replay: "pure",
    grpc: "ModelReady",
  },
  modelMetadata: {
    method: "GET",
    paths: ["/v2/models/{model}", "/v2/models/{model}/versions/{version}"],
    category: "metadata",
    replay: "pure",
    grpc: "ModelMetadata",
  },
  modelConfig: {
    method: "GET",
    paths: ["/v2/models/{model}/config", "/v2/models/{model}/versions/{version}/config"],
    category: "model-config",
    replay: "pure",
    grpc: "ModelConfig",
  },
  modelStatistics: {
    method: "GET",
    paths: ["/v2/models/stats", "/v2/models/{model}/stats", "/v2/models/{model}/versions/{version}/stats"],
    category: "statistics",
    replay: "pure",
    grpc: "ModelStatistics",
  },
  modelInfer: {
    method: "POST",
    paths: ["/v2/models/{model}/infer", "/v2/models/{model}/versions/{version}/infer"],
    category: "inference",
    replay: "pure",
    grpc: "ModelInfer",
  },
  repositoryIndex: {
    method: "POST",
    paths: ["/v2/repository/index", "/v2/repository/{repository}/index"],
    category: "model-repository",
    replay: "pure",
    grpc: "RepositoryIndex",
  },
  repositoryModelLoad: {
    method: "POST",
    paths: ["/v2/repository/models/{model}/load", "/v2/repository/{repository}/models/{model}/load"],
    category: "model-repository",
    replay: "control",
    grpc: "RepositoryModelLoad",
  },
  repositoryModelUnload: {
    method: "POST",
    paths: ["/v2/repository/models/{model}/unload", "/v2/repository/{repository}/models/{model}/unload"],
    category: "model-repository",
    replay: "control",
    grpc: "RepositoryModelUnload",
  },
};

/** What accompanies every operation on its way. */
export interface OperationContext {
  /** Fires when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** One method per operation: implemented by the server's facade and by everything that forwards to it. */
export type OperationHandlers = {
  readonly [Name in OperationName]: (
    input: OperationInput<Name>,
    context: OperationContext,
  ) => Promise<OperationOutput<Name>>;
};
