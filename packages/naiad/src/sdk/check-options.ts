import {
  BASE,
  BOOLEAN,
  FUNCTION,
  STRING,
  STRINGS,
  checkOptionKinds,
  integer,
  list,
  oneOf,
  record,
} from "@naiad/protocol";
import type { OptionKind } from "@naiad/protocol";
import type { StartServerOptions } from "./start-options.ts";

const URL_TEXT: OptionKind = {
  text: "a URL",
  holds: (value) => typeof value === "string" && value !== "",
};
const MANIFEST: OptionKind = { text: "what index.json would hold", holds: isManifest };
const REPOSITORY: OptionKind = {
  text: "a URL or an object of { url, manifest }",
  holds: (value) =>
    URL_TEXT.holds(value) || record({ url: URL_TEXT, manifest: MANIFEST }, ["url"]).holds(value),
};
const REPOSITORIES: OptionKind = {
  text: `the repository's URL, an object of { url, manifest }, or a list of such`,
  holds: (value) =>
    REPOSITORY.holds(value) || (Array.isArray(value) && value.length > 0 && list(REPOSITORY).holds(value)),
};

const LIMIT_MS = integer(0);
const RATE_LIMIT_RESOURCE = record({ name: STRING, count: integer(0), device: integer(0) }, [
  "name",
  "count",
]);

/** Every option: a new one does not compile until it stands here. */
const OPTIONS: { readonly [Name in keyof Required<StartServerOptions>]: OptionKind } = {
  modelRepository: REPOSITORIES,
  id: STRING,
  modelControlMode: oneOf("none", "poll", "explicit"),
  loadModels: STRINGS,
  repositoryPollSecs: integer(1),
  strictReadiness: BOOLEAN,
  exitOnError: BOOLEAN,
  disableAutoCompleteConfig: BOOLEAN,
  strictModelConfig: BOOLEAN,
  modelConfigName: {
    text: "the name of a file without a slash",
    holds: (value) => typeof value === "string" && !value.includes("/"),
  },
  modelLoadThreadCount: integer(1),
  modelLoadRetryCount: integer(0),
  modelNamespacing: {
    text: "false, since namespaces are not supported: give models of one name in two repositories different names",
    holds: (value) => value === false,
  },
  exitTimeoutSecs: integer(0),
  logVerbose: integer(0),
  logInfo: BOOLEAN,
  logWarning: BOOLEAN,
  logError: BOOLEAN,
  logFormat: oneOf("default", "ISO8601"),
  defaultMaxBatchSize: integer(0),
  cacheConfig: STRINGS,
  responseCacheByteSize: integer(0),
  httpMaxInputSize: integer(1),
  httpRestrictedApi: STRINGS,
  httpHeaderForwardPattern: STRING,
  grpcRestrictedProtocol: STRINGS,
  grpcHeaderForwardPattern: STRING,
  grpcInferResponseCompressionLevel: oneOf("none", "low", "medium", "high"),
  allowMetrics: BOOLEAN,
  metricsConfig: STRINGS,
  traceConfig: STRINGS,
  rateLimit: oneOf("off", "execution_count"),
  rateLimitResources: list(RATE_LIMIT_RESOURCE),
  requestRateLimit: STRING,
  maxInflightBytes: integer(0),
  gpuFallback: oneOf("cpu", "error"),
  allowSoftwareGpu: BOOLEAN,
  foldGpus: BOOLEAN,
  threads: integer(0),
  verify: oneOf("auto", "always", "off"),
  limits: record({ createMs: LIMIT_MS, firstRunMs: LIMIT_MS, runMs: LIMIT_MS }),
  base: BASE,
  assets: URL_TEXT,
  serviceWorker: { text: "a URL or false", holds: (value) => value === false || URL_TEXT.holds(value) },
  mode: oneOf("auto", "service-worker", "direct"),
  persistStorage: BOOLEAN,
  onEvent: FUNCTION,
  signal: { text: "an AbortSignal", holds: (value) => value instanceof AbortSignal },
};

/** Throws a `TypeError` that names the option: a misspelt `modelControlMode` must not download every model. */
export function checkOptions(options: unknown): void {
  checkOptionKinds(options, { subject: "startServer", kinds: OPTIONS, required: ["modelRepository"] });
}

/** JSON text or what can become one; whether it is a manifest, the server finds out. */
function isManifest(value: unknown): boolean {
  if (typeof value === "string") return true;
  try {
    return typeof value === "object" && value !== null && typeof JSON.stringify(value) === "string";
  } catch {
    return false;
  }
}
