import type { GrpcCompressionLevel, RateLimitResource, ServerEvent, WatchdogLimits } from "@naiad/protocol";

/**
 * Options of `startServer`. Those that tritonserver has are named after its flags in camelCase and mean the same; the
 * default of `modelControlMode` differs, since a page must not download every model by accident.
 */
export interface StartServerOptions {
  /** URLs of model repositories, relative to the page; an object brings a manifest for hosts without an `index.json`. */
  readonly modelRepository: ModelRepositoryOption | readonly ModelRepositoryOption[];
  /** Default `triton`. */
  readonly id?: string;
  /** Default `explicit`: nothing is loaded except `loadModels` and what is asked for later. */
  readonly modelControlMode?: "none" | "poll" | "explicit";
  /** Models to load at start in mode `explicit`; `"*"` alone means all. Default none. */
  readonly loadModels?: string | readonly string[];
  /** Default 15. */
  readonly repositoryPollSecs?: number;
  /** Default true. */
  readonly strictReadiness?: boolean;
  /** Whether a model that fails at start makes `startServer` reject. Default true. */
  readonly exitOnError?: boolean;
  /** Default false. */
  readonly disableAutoCompleteConfig?: boolean;
  /** Triton's older name of `disableAutoCompleteConfig`, which counts where both are given. */
  readonly strictModelConfig?: boolean;
  /** Models with a `configs/<name>.pbtxt` take that instead of their `config.pbtxt`. Default none. */
  readonly modelConfigName?: string;
  /** Models that are loaded at a time at start. Default 4. */
  readonly modelLoadThreadCount?: number;
  /** How often a load that failed is tried again. Default 0. */
  readonly modelLoadRetryCount?: number;
  /** Only false: models of one name in two repositories cannot be told apart. */
  readonly modelNamespacing?: false;
  /** How long `stop` waits for requests that were accepted. Default 30. */
  readonly exitTimeoutSecs?: number;
  /** 0 is off. */
  readonly logVerbose?: number;
  /** Default true, as the two below. */
  readonly logInfo?: boolean;
  readonly logWarning?: boolean;
  readonly logError?: boolean;
  /** Default `default`. */
  readonly logFormat?: "default" | "ISO8601";
  /** `max_batch_size` of auto-completed models that can batch. Default 4. */
  readonly defaultMaxBatchSize?: number;
  /**
   * `local,size=<bytes>`: answers of models with `response_cache { enable: true }` are kept in memory, up to so many bytes in
   * all. Default: no cache.
   */
  readonly cacheConfig?: string | readonly string[];
  /** Triton's older name of `cacheConfig: "local,size=<bytes>"`; 0: no cache. Not both. */
  readonly responseCacheByteSize?: number;
  /** Bytes. Default 64 MiB. */
  readonly httpMaxInputSize?: number;
  /**
   * `<category>[,<category>...]:<header>=<value>`: HTTP requests of these categories are refused without the header. Keeps
   * scripts from mistakes, not from attacks: whatever runs on this origin can read the options.
   */
  readonly httpRestrictedApi?: string | readonly string[];
  /** Regular expression: request headers with such a name become parameters of the inference request. Case is ignored. */
  readonly httpHeaderForwardPattern?: string;
  /** The same for gRPC, where the header is named without its prefix `triton-grpc-protocol-`. */
  readonly grpcRestrictedProtocol?: string | readonly string[];
  /** The same for gRPC's metadata. */
  readonly grpcHeaderForwardPattern?: string;
  /** Other than `none` (default), responses of gRPC are compressed for clients that take that. */
  readonly grpcInferResponseCompressionLevel?: GrpcCompressionLevel;
  /**
   * Whether `GET <base>metrics` and `client.metrics()` are answered. Default true; false leaves that address to the
   * application.
   */
  readonly allowMetrics?: boolean;
  /**
   * `<setting>=<value>` each: `counter_latencies`, `summary_latencies`, `histogram_latencies` (true or false) and
   * `summary_quantiles` (`0.5:0.05,0.99:0.001`).
   */
  readonly metricsConfig?: string | readonly string[];
  /**
   * `<setting>=<value>` each, as for `--trace-config`: `level` (`TIMESTAMPS` or `TENSORS`), `rate`, `count`, `log-frequency`. In a
   * page traces are kept in memory, where `server.traces()` reads them. Default: nothing is traced.
   */
  readonly traceConfig?: string | readonly string[];

  /** `execution_count`: instances take turns as `rate_limiter` of their groups says. Default `off`. */
  readonly rateLimit?: "off" | "execution_count";
  /**
   * Units of each resource that a `rate_limiter` names, on one device or, without `device`, on every one. Default: as many
   * as the instance needs that needs most.
   */
  readonly rateLimitResources?: readonly RateLimitResource[];
  /**
   * Requests a second, and how many at once, that each model accepts: `<rate>[:<burst>]`. More are refused with 503 and
   * `Retry-After`. Models may say otherwise in `parameters`. Default `off`.
   */
  readonly requestRateLimit?: string;
  /**
   * Bytes that what is queued and executing in the whole server may take: the inputs of each request and 4 KiB for itself.
   * What comes beyond is refused with 503. Default a sixteenth of the device's memory.
   */
  readonly maxInflightBytes?: number;

  /**
   * What a KIND_GPU instance does where WebGPU is missing or cannot run the model: run on WASM with a warning (`cpu`, the
   * default) or fail as in Triton (`error`).
   */
  readonly gpuFallback?: "cpu" | "error";
  /** Whether a software WebGPU adapter counts as a GPU. Default false. */
  readonly allowSoftwareGpu?: boolean;
  /** Whether `gpus: [1]` on a machine with one adapter means that adapter. Default false: Triton's error. */
  readonly foldGpus?: boolean;
  /** WASM threads of one CPU instance where the page is cross-origin isolated. Default: as many as leave a core for the page. */
  readonly threads?: number;
  /**
   * Whether the results of instances on WebGPU are compared with those of WASM when they are loaded, on made-up inputs; a
   * model that differs runs on WASM. `auto` (default) compares models that do not ask for a GPU themselves. Each result is
   * remembered. Models may say otherwise in `parameters`.
   */
  readonly verify?: "auto" | "always" | "off";
  /** When an operation counts as hung. Models may set their own in `parameters`. */
  readonly limits?: Partial<WatchdogLimits>;

  /** Path under which /v2 appears, with slashes at both ends. Default `/`. */
  readonly base?: string;
  /** Folder with the prebuilt workers. Default `<base>naiad/`. */
  readonly assets?: string;
  /** Script of the service worker, or `false` where the app registers its own with `installGateway`. Default `<base>naiad-sw.js`. */
  readonly serviceWorker?: string | false;
  /**
   * `auto` (default) uses the service worker where there can be one; `service-worker` rejects where there cannot; `direct`
   * never uses one: the server is this page's own and `fetch` does not reach it.
   */
  readonly mode?: "auto" | "service-worker" | "direct";

  /**
   * Whether the page that runs the server asks the browser, once, to keep the stored models also when the disk gets full. The
   * answer is in the log. Firefox puts the question to the user. Default false.
   */
  readonly persistStorage?: boolean;

  /** Hears progress, model states and log lines from the first on. */
  readonly onEvent?: (event: ServerEvent) => void;
  /** Ends a start that has not finished. */
  readonly signal?: AbortSignal;
}

export type ModelRepositoryOption = string | ModelRepositoryWithManifest;

export interface ModelRepositoryWithManifest {
  readonly url: string;
  /** What `index.json` would hold: an object, or its JSON text. */
  readonly manifest?: unknown;
}
