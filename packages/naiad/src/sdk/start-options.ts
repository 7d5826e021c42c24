import type {
  CacheConfig,
  GrpcCompressionLevel,
  RateLimitResource,
  RepositoryLocation,
  ServerEvent,
  ServerOptions,
  WatchdogLimits,
} from "@naiad/protocol";
import {
  parseCacheConfig,
  parseHeaderPattern,
  parseMetricsConfig,
  parseRequestRateLimit,
  parseRestrictedApis,
} from "@naiad/protocol";
import { WITHOUT_METRICS } from "@naiad/runtime/contracts";
import { checkOptions } from "./check-options.ts";

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

/** The options with every default in its place and every URL absolute. */
export interface StartSettings {
  readonly server: ServerOptions;
  readonly base: string;
  readonly assets: string;
  readonly serviceWorker: string | false;
  readonly mode: "auto" | "service-worker" | "direct";
  readonly persistStorage: boolean;
}

const DEFAULT_LIMITS: WatchdogLimits = { createMs: 120_000, firstRunMs: 60_000, runMs: 30_000 };

/** Throws a `TypeError` that names the option for values that no type checker has seen. */
export function resolveSettings(options: StartServerOptions, pageUrl: string): StartSettings {
  checkOptions(options);
  const base = options.base ?? "/";
  const { modelRepository, loadModels = [], httpRestrictedApi = [], httpHeaderForwardPattern = "" } = options;
  const { allowMetrics = true } = options;
  const repositories = isList(modelRepository) ? modelRepository : [modelRepository];
  const absolute = (path: string, option: string): string => absoluteUrl(path, pageUrl, option);
  return {
    base,
    mode: options.mode ?? "auto",
    persistStorage: options.persistStorage ?? false,
    assets: absolute(withSlash(options.assets ?? `${base}naiad/`), "assets"),
    serviceWorker:
      options.serviceWorker === false
        ? false
        : gatewayScript(
            absolute(options.serviceWorker ?? `${base}naiad-sw.js`, "serviceWorker"),
            allowMetrics,
          ),
    server: {
      id: options.id ?? "triton",
      modelRepositories: repositories.map((one) =>
        repositoryLocation(one, (path) => absolute(path, "modelRepository")),
      ),
      modelControlMode: options.modelControlMode ?? "explicit",
      loadModels: listOf(loadModels),
      repositoryPollSecs: options.repositoryPollSecs ?? 15,
      strictReadiness: options.strictReadiness ?? true,
      exitOnError: options.exitOnError ?? true,
      disableAutoCompleteConfig: options.disableAutoCompleteConfig ?? options.strictModelConfig ?? false,
      modelConfigName: options.modelConfigName ?? "",
      modelLoadThreadCount: options.modelLoadThreadCount ?? 4,
      modelLoadRetryCount: options.modelLoadRetryCount ?? 0,
      exitTimeoutSecs: options.exitTimeoutSecs ?? 30,
      logVerbose: options.logVerbose ?? 0,
      logInfo: options.logInfo ?? true,
      logWarning: options.logWarning ?? true,
      logError: options.logError ?? true,
      logFormat: options.logFormat ?? "default",
      defaultMaxBatchSize: options.defaultMaxBatchSize ?? 4,
      cacheConfig: cacheConfig(options),
      httpMaxInputSize: options.httpMaxInputSize ?? 64 * 1024 * 1024,
      httpRestrictedApis: parseRestrictedApis(listOf(httpRestrictedApi)),
      httpHeaderForwardPattern: checkedPattern("httpHeaderForwardPattern", httpHeaderForwardPattern),
      grpcRestrictedProtocols: parseRestrictedApis(listOf(options.grpcRestrictedProtocol ?? [])),
      grpcHeaderForwardPattern: checkedPattern(
        "grpcHeaderForwardPattern",
        options.grpcHeaderForwardPattern ?? "",
      ),
      grpcInferResponseCompressionLevel: options.grpcInferResponseCompressionLevel ?? "none",
      allowMetrics,
      metricsConfig: parseMetricsConfig(listOf(options.metricsConfig ?? [])),
      rateLimit: options.rateLimit ?? "off",
      rateLimitResources: options.rateLimitResources ?? [],
      requestRateLimit: parseRequestRateLimit(options.requestRateLimit ?? "off"),
      maxInflightBytes: options.maxInflightBytes ?? 0,
      gpuFallback: options.gpuFallback ?? "cpu",
      allowSoftwareGpu: options.allowSoftwareGpu ?? false,
      foldGpus: options.foldGpus ?? false,
      threads: options.threads ?? 0,
      verify: options.verify ?? "auto",
      limits: { ...DEFAULT_LIMITS, ...options.limits },
    },
  };
}

function absoluteUrl(path: string, pageUrl: string, option: string): string {
  try {
    return new URL(path, pageUrl).href;
  } catch (error) {
    throw new TypeError(`startServer's option '${option}' must be a URL, but it is '${path}'`, {
      cause: error,
    });
  }
}

/** A service worker knows no options but those in its script's address. */
function gatewayScript(url: string, allowMetrics: boolean): string {
  if (allowMetrics) return url;
  const script = new URL(url);
  script.search += `${script.search === "" ? "?" : "&"}${WITHOUT_METRICS}`;
  return script.href;
}

function listOf(value: string | readonly string[]): readonly string[] {
  return typeof value === "string" ? [value] : [...value];
}

function cacheConfig({ cacheConfig: texts, responseCacheByteSize }: StartServerOptions): CacheConfig {
  if (responseCacheByteSize === undefined) return parseCacheConfig(listOf(texts ?? []));
  if (texts !== undefined) {
    throw new TypeError(
      "Incompatible options responseCacheByteSize and cacheConfig both provided. Please provide one or the other.",
    );
  }
  return responseCacheByteSize === 0 ? { kind: "none" } : { kind: "local", byteSize: responseCacheByteSize };
}

function checkedPattern(option: string, pattern: string): string {
  try {
    parseHeaderPattern(pattern);
    return pattern;
  } catch (error) {
    throw new TypeError(`${option} is no regular expression: ${String(error)}`, {
      cause: error,
    });
  }
}

function isList(value: StartServerOptions["modelRepository"]): value is readonly ModelRepositoryOption[] {
  return Array.isArray(value);
}

function withSlash(path: string): string {
  return path.endsWith("/") ? path : `${path}/`;
}

function repositoryLocation(
  option: ModelRepositoryOption,
  absolute: (path: string) => string,
): RepositoryLocation {
  if (typeof option === "string") return { url: absolute(withSlash(option)) };
  const url = absolute(withSlash(option.url));
  const { manifest } = option;
  if (manifest === undefined) return { url };
  return { url, manifest: typeof manifest === "string" ? manifest : JSON.stringify(manifest) };
}

/** Names of the options in which two servers differ, for example `server.id`. */
export function differingOptions(left: object, right: object, prefix = ""): string[] {
  const a = new Map<string, unknown>(Object.entries(left));
  const b = new Map<string, unknown>(Object.entries(right));
  return [...new Set([...a.keys(), ...b.keys()])].sort().flatMap((key) => {
    const [one, other] = [a.get(key), b.get(key)];
    if (isRecord(one) && isRecord(other)) return differingOptions(one, other, `${prefix}${key}.`);
    return JSON.stringify(one) === JSON.stringify(other) ? [] : [`${prefix}${key}`];
  });
}

function isRecord(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
