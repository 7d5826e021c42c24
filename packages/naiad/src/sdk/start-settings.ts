import type {
  CacheConfig,
  RepositoryLocation,
  ServerOptions,
  TraceConfig,
  WatchdogLimits,
} from "@naiad/protocol";
import {
  parseCacheConfig,
  parseHeaderPattern,
  parseMetricsConfig,
  parseRequestRateLimit,
  parseRestrictedApis,
  parseTraceConfig,
} from "@naiad/protocol";
import { WITHOUT_METRICS } from "@naiad/runtime/contracts";
import { checkOptions } from "./check-options.ts";
import type { ModelRepositoryOption, StartServerOptions } from "./start-options.ts";

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
        : gatewayScript(absolute(options.serviceWorker ?? `${base}naiad-sw.js`, "serviceWorker"), {
            allowMetrics,
          }),
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
      traceConfig: traceConfig(options),
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
function gatewayScript(url: string, { allowMetrics }: { readonly allowMetrics: boolean }): string {
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

function traceConfig({ traceConfig: texts = [] }: StartServerOptions): TraceConfig {
  const config = parseTraceConfig(listOf(texts));
  if (config.mode === "triton") return config;
  throw new TypeError(
    "startServer's option 'traceConfig' must be of the mode 'triton': a page exports no spans, see server.traces()",
  );
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
