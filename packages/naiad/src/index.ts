export { startServer } from "./sdk/start-server.ts";
export { diagnose } from "./sdk/diagnose.ts";
export type { Diagnosis } from "./sdk/diagnose.ts";
export type { PlatformFacts, PlatformFinding } from "./sdk/judge-platform.ts";
export type { NaiadServer } from "./sdk/naiad-server.ts";
export type {
  ModelRepositoryOption,
  ModelRepositoryWithManifest,
  StartServerOptions,
} from "./sdk/start-options.ts";
export { createFetchTransport, createInferenceClient } from "@naiad/client";
export type {
  BytesOutput,
  ClientOptions,
  FetchTransportOptions,
  FixedOutput,
  IndexOptions,
  InferCall,
  InferenceClient,
  InferInput,
  InferOutput,
  InferResult,
  LoadOptions,
  ModelOptions,
  NestedValues,
  SequenceCall,
  TensorValue,
  Transport,
  TransportOptions,
  UnloadOptions,
} from "@naiad/client";
export { tritonTraceText } from "@naiad/core";
export { InferenceError } from "@naiad/protocol";
export type {
  Capabilities,
  Datatype,
  DeviceReport,
  HostInfo,
  InstanceReport,
  ModelMetadata,
  ModelStatistics,
  ModelVersionStatistics,
  RepositoryIndexEntry,
  ServerEvent,
  ServerMetadata,
  StatusCode,
  Trace,
  TraceActivity,
  TraceNote,
  TracedRequest,
} from "@naiad/protocol";
