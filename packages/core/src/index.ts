export * from "./ports.ts";
export * from "./scheduling/scheduler.ts";
export type { RequestTarget } from "./request/inference-request.ts";
export { validateRequest } from "./request/inference-request.ts";
export type {
  BatchLimit,
  ModelStatisticsDetails,
  ModelStatisticsRecorder,
} from "./statistics/model-statistics.ts";
export { createModelStatistics } from "./statistics/model-statistics.ts";
export type { GpuMetrics, MachineMetrics, PlaceMetrics, WorkerKind } from "./metrics/metric-sources.ts";
export type {
  CustomMetric,
  CustomMetricFamily,
  CustomMetrics,
  CustomMetricUpdate,
} from "./metrics/custom-metrics.ts";
export { createCustomMetrics } from "./metrics/custom-metrics.ts";
export { createModelLatencies } from "./metrics/model-latencies.ts";
export type { DownloadLock, FetchModelFiles, FileProgress } from "./repository/fetch-files.ts";
export { fetchModelFiles } from "./repository/fetch-files.ts";
export { createMemoryFileStore } from "./repository/memory-file-store.ts";
export { storedModelFiles } from "./repository/stored-files.ts";
export { parseManifest, parseModelFile, printManifest } from "./repository/manifest.ts";
export type { SchedulerOptions } from "./scheduling/scheduler-options.ts";
export { createScheduler } from "./scheduling/create-scheduler.ts";
export { readInitialStates } from "./scheduling/sequence/read-initial-states.ts";
export type { InstanceGroup } from "./scheduling/instance-group.ts";
export type { InstanceGroupOptions } from "./scheduling/start-instance-group.ts";
export { startInstanceGroup } from "./scheduling/start-instance-group.ts";
export type { LoadOrigin, LoadPlan, PolledModel, ServingVersion } from "./lifecycle/serving-version.ts";
export type { InferenceServer, InferenceServerOptions } from "./inference-server.ts";
export { createInferenceServer } from "./inference-server.ts";
export type { LogControl } from "./server/log-settings.ts";
export { createLogControl } from "./server/log-settings.ts";
export type { TraceControl, TraceOverride } from "./trace/trace-control.ts";
export { createTraceControl } from "./trace/trace-control.ts";
export type { Tracing } from "./trace/tracing.ts";
export { createTracing } from "./trace/tracing.ts";
export { tritonTraceObjects, tritonTraceText } from "./trace/triton-trace-text.ts";
export type { VerificationOptions } from "./verification/verified-backend.ts";
export { createVerifiedBackend } from "./verification/verified-backend.ts";
export type { ResponseStream } from "./server/response-stream.ts";
export { createResponseStream } from "./server/response-stream.ts";
export type { CheckContext } from "./check/check-model.ts";
export type { CheckRepository } from "./check/check-repository.ts";
export { checkRepository } from "./check/check-repository.ts";
export type { Inspection, ModelInspector } from "./check/model-inspector.ts";
export type { RepositoryFinding } from "./check/finding-sheet.ts";
