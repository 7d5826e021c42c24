import type { MetricsConfig } from "./metrics-config.ts";
import type { CacheConfig } from "./cache-config.ts";
import type { RequestRateLimit } from "./request-rate-limit.ts";
import type { RestrictedApi } from "./restricted-api.ts";
import type { TraceConfig } from "./trace-config.ts";

/** Options of the server, named after tritonserver's flags. */
export interface ServerOptions {
  /** Name in the server metadata. */
  readonly id: string;
  /** Absolute URLs of the model repositories. */
  readonly modelRepositories: readonly RepositoryLocation[];
  readonly modelControlMode: "none" | "poll" | "explicit";
  /** Models to load at start in mode explicit; `*` alone means all. */
  readonly loadModels: readonly string[];
  readonly repositoryPollSecs: number;
  readonly strictReadiness: boolean;
  readonly exitOnError: boolean;
  readonly disableAutoCompleteConfig: boolean;
  /** Of `configs/<name>.pbtxt`, which models that have it take instead of `config.pbtxt`; `""`: none. */
  readonly modelConfigName: string;
  /** Models that are loaded at a time at start and after a poll. */
  readonly modelLoadThreadCount: number;
  /** How often the load of a version that failed is tried again. */
  readonly modelLoadRetryCount: number;
  /** How long a server that ends waits for what it accepted. */
  readonly exitTimeoutSecs: number;
  readonly logVerbose: number;
  readonly logInfo: boolean;
  readonly logWarning: boolean;
  readonly logError: boolean;
  readonly logFormat: "default" | "ISO8601";
  /** Default batch size of auto-completed models (Triton's `--backend-config=default-max-batch-size`). */
  readonly defaultMaxBatchSize: number;
  readonly cacheConfig: CacheConfig;
  readonly httpMaxInputSize: number;
  /** At most one for each category. */
  readonly httpRestrictedApis: readonly RestrictedApi[];
  /** Regular expression for names of request headers that become parameters of the request; `""`: none. */
  readonly httpHeaderForwardPattern: string;
  /** As those of HTTP, for the services of gRPC. */
  readonly grpcRestrictedProtocols: readonly RestrictedApi[];
  readonly grpcHeaderForwardPattern: string;
  /** Whether responses are compressed where the client takes that. Triton's levels are all one here. */
  readonly grpcInferResponseCompressionLevel: GrpcCompressionLevel;
  /** Whether there are metrics at all. */
  readonly allowMetrics: boolean;
  readonly metricsConfig: MetricsConfig;
  /** What is traced until the settings of traces are changed, and what they go back to. */
  readonly traceConfig: TraceConfig;
  /** Whether instances execute as their `rate_limiter` says, or whenever they are free. */
  readonly rateLimit: "off" | "execution_count";
  /** None: as many units of each resource as the instance needs that needs most. */
  readonly rateLimitResources: readonly RateLimitResource[];
  /** Beyond Triton: for each model that does not say itself. */
  readonly requestRateLimit: RequestRateLimit;
  /** Beyond Triton: bytes that requests in flight may take, inputs and 4 KiB each; 0: as the device's memory suggests. */
  readonly maxInflightBytes: number;
  /** Beyond Triton: what a browser adds. */
  readonly gpuFallback: "cpu" | "error";
  /** Whether a software WebGPU adapter counts as a GPU. */
  readonly allowSoftwareGpu: boolean;
  /** What `gpus: [1]` means on a machine with one adapter. */
  readonly foldGpus: boolean;
  /** Threads of one WASM instance; 0: as the platform allows. */
  readonly threads: number;
  /** Which instances on a GPU are compared with the CPU at load: those not asked for there, all, or none. */
  readonly verify: "auto" | "always" | "off";
  readonly limits: WatchdogLimits;
}

export type GrpcCompressionLevel = "none" | "low" | "medium" | "high";

/** Triton's `--rate-limit-resource`. */
export interface RateLimitResource {
  readonly name: string;
  readonly count: number;
  /** Absent: on every device. Means nothing for a resource that is global. */
  readonly device?: number;
}

export interface RepositoryLocation {
  readonly url: string;
  /** A manifest that the page brings itself, for hosts without an `index.json`. JSON text. */
  readonly manifest?: string;
  /** What it is called in texts, where its address is nobody's business. */
  readonly shownAs?: string;
}

/** Milliseconds that one operation of an instance may take before its worker counts as hung. */
export interface WatchdogLimits {
  readonly createMs: number;
  /** The first run compiles shaders. */
  readonly firstRunMs: number;
  readonly runMs: number;
}
