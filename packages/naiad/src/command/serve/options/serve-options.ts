import type { LogSettings, RateLimitResource, TraceConfig } from "@naiad/protocol";
import type { HostStart } from "@naiad/runtime/contracts";
import type { StartServerOptions } from "../../../sdk/start-options.ts";
import { UsageError } from "../../command-io.ts";
import type { SessionLimits } from "../listen/watch-session.ts";
import { readBackendOptions } from "./backend-options.ts";
import { readFlags } from "./read-flags.ts";
import { readTraceOptions } from "./trace-options.ts";

export interface ServeOptions {
  /** Directories. */
  readonly repositories: readonly string[];
  /** Without what only the command knows: addresses of repositories and workers. */
  readonly server: Omit<StartServerOptions, "modelRepository">;
  readonly cors: NonNullable<HostStart["cors"]>;
  readonly listeners: readonly ListenerOptions[];
  readonly accessLog: string | undefined;
  readonly log: LogOptions;
  readonly trace: TraceConfig;
  /** What of the machine the metrics tell; `undefined` where there are no metrics. */
  readonly machine: MachineOptions | undefined;
  readonly runtime: RuntimeKind;
  /** Of the runtime `browser`. */
  readonly browser: BrowserOptions;
  /** A host that has not answered for so long is started anew. */
  readonly hangSecs: number;
  readonly exitTimeoutSecs: number;
  readonly warnings: readonly string[];
}

export type ListenerOptions = {
  readonly address: string;
  /** 0: a free one. */
  readonly port: number;
  readonly tls: TlsFiles | undefined;
} & (
  { readonly protocol: "http" | "metrics" } | { readonly protocol: "grpc"; readonly sessions: SessionLimits }
);

export interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
  /** Where clients must have a certificate: what it is checked against. */
  readonly clientRoots: string | undefined;
}

export interface MachineOptions {
  readonly cpu: "told" | "left out";
  readonly gpu: "told" | "left out";
  readonly intervalMs: number;
}

export interface LogOptions {
  readonly verbose: number;
  readonly info: boolean;
  readonly warning: boolean;
  readonly error: boolean;
  readonly format: LogSettings["log_format"];
  readonly file: string | undefined;
}

/** What the server runs in. */
export type RuntimeKind = "browser" | "node";

export interface BrowserOptions {
  readonly path: string | undefined;
  readonly gpu: "auto" | "off" | "software";
  readonly sandbox: "on" | "off";
  readonly arguments: readonly string[];
}

/** `"help"` where that was asked for. Throws a `UsageError` for what makes no sense. */
export function readServeOptions(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = {},
): ServeOptions | "help" {
  const { values, warnings } = readFlags(argv);
  if (values.has("help")) return "help";
  const flags = new FlagReader(values);
  const repositories = flags.all("model-repository");
  if (repositories.length === 0) throw new UsageError("--model-repository must be specified");
  const runtime = flags.oneOf("runtime", ["browser", "node"]) ?? "browser";
  if (runtime === "node") refuseBrowserFlags(values);
  const listeners = readListeners(flags);
  const trace = readTraceOptions(flags, environment);
  const origins = flags.all("http-cors-allow-origin");
  const gpu = flags.oneOf("gpu", ["auto", "off", "software"]) ?? "auto";
  return {
    repositories,
    server: serverOptions(flags, gpu),
    cors: { allowOrigins: origins.includes("*") ? "*" : origins },
    listeners,
    accessLog: flags.text("http-access-log"),
    log: {
      verbose: flags.number("log-verbose") ?? 0,
      info: flags.flag("log-info") ?? true,
      warning: flags.flag("log-warning") ?? true,
      error: flags.flag("log-error") ?? true,
      format: flags.text("log-format") ?? "default",
      // tritonserver's default, which means standard error.
      file: flags.text("log-file") === "" ? undefined : flags.text("log-file"),
    },
    trace: trace.config,
    machine: machineOptions(flags),
    runtime,
    browser: {
      path: flags.text("browser"),
      gpu,
      sandbox: flags.flag("no-sandbox") === true ? "off" : "on",
      arguments: flags.all("browser-argument"),
    },
    hangSecs: Math.max(1, flags.number("browser-hang-secs") ?? 30),
    exitTimeoutSecs: flags.number("exit-timeout-secs") ?? 30,
    warnings: [...warnings, ...readBackendOptions(flags.all("backend-config")).warnings, ...trace.warnings],
  };
}

/** What only a browser can be told. */
const BROWSER_FLAGS = ["browser", "browser-argument", "gpu", "no-sandbox"] as const;

function refuseBrowserFlags(values: ReadonlyMap<string, unknown>): void {
  const given = BROWSER_FLAGS.find((name) => values.has(name));
  if (given === undefined) return;
  throw new UsageError(`--${given} is for --runtime browser: --runtime node has no browser, and no GPU`);
}

function readListeners(flags: FlagReader): readonly ListenerOptions[] {
  const host = flags.text("host") ?? "127.0.0.1";
  const httpAddress = flags.text("http-address") ?? host;
  const listeners: ListenerOptions[] = [];
  if (flags.flag("allow-http") ?? true) {
    const port = flags.number("http-port") ?? 8000;
    listeners.push({ protocol: "http", address: httpAddress, port, tls: tls(flags, "http") });
  }
  if (flags.flag("allow-grpc") ?? true) {
    listeners.push({
      protocol: "grpc",
      address: flags.text("grpc-address") ?? host,
      port: flags.number("grpc-port") ?? 8001,
      tls: tls(flags, "grpc"),
      sessions: sessionLimits(flags),
    });
  }
  if (flags.flag("allow-metrics") ?? true) {
    const address = flags.text("metrics-address") ?? httpAddress;
    listeners.push({
      protocol: "metrics",
      address,
      port: flags.number("metrics-port") ?? 8002,
      tls: undefined,
    });
  }
  if (listeners.length > 0) return listeners;
  throw new UsageError("there is nothing to serve: --allow-http, --allow-grpc and --allow-metrics are false");
}

/** Reading more often would cost more than it tells. */
const SHORTEST_INTERVAL_MS = 100;

function machineOptions(flags: FlagReader): MachineOptions | undefined {
  if (flags.flag("allow-metrics") === false) return undefined;
  const told = (name: string): MachineOptions["cpu"] => (flags.flag(name) === false ? "left out" : "told");
  return {
    cpu: told("allow-cpu-metrics"),
    gpu: told("allow-gpu-metrics"),
    intervalMs: Math.max(SHORTEST_INTERVAL_MS, flags.number("metrics-interval-ms") ?? 2000),
  };
}

function sessionLimits(flags: FlagReader): SessionLimits {
  return {
    pingAfterMs: Math.max(1, flags.number("grpc-keepalive-time") ?? 7_200_000),
    pingTimeoutMs: flags.number("grpc-keepalive-timeout") ?? 20_000,
    pinged: flags.flag("grpc-keepalive-permit-without-calls") === true ? "all" : "in use",
    maxAgeMs: flags.number("grpc-max-connection-age"),
    maxAgeGraceMs: flags.number("grpc-max-connection-age-grace"),
  };
}

/** What was given, each under the kind that its flag has. */
class FlagReader {
  readonly #values: ReadonlyMap<string, readonly string[]>;

  constructor(values: ReadonlyMap<string, readonly string[]>) {
    this.#values = values;
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  text(name: string): string | undefined {
    return this.all(name)[0];
  }

  number(name: string): number | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : Number(text);
  }

  flag(name: string): boolean | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : text === "true";
  }

  /** The flags' table has checked that it is one of them. */
  oneOf<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    return words.find((word) => word === this.text(name));
  }
}

type Mutable<Value> = { -readonly [Key in keyof Value]: Value[Key] };

function serverOptions(flags: FlagReader, gpu: BrowserOptions["gpu"]): ServeOptions["server"] {
  const options: Mutable<Partial<ServeOptions["server"]>> = {
    modelControlMode: flags.oneOf("model-control-mode", ["none", "poll", "explicit"]) ?? "none",
    loadModels: flags.all("load-model"),
    httpRestrictedApi: flags.all("http-restricted-api"),
    grpcRestrictedProtocol: flags.all("grpc-restricted-protocol"),
    metricsConfig: flags.all("metrics-config"),
    rateLimitResources: flags.all("rate-limit-resource").map(rateLimitResource),
    allowSoftwareGpu: gpu === "software",
  };
  if (options.modelControlMode !== "explicit" && flags.all("load-model").length > 0) {
    throw new UsageError("Use of '--load-model' requires setting '--model-control-mode=explicit' as well.");
  }
  const { loadModels = [] } = options;
  if (loadModels.length > 1 && loadModels.includes("*")) {
    throw new UsageError("Wildcard model name '*' must be the ONLY startup model if specified at all.");
  }
  const cache = flags.all("cache-config");
  if (cache.length > 0) options.cacheConfig = cache;
  const set = <Key extends keyof typeof options>(key: Key, value: (typeof options)[Key]): void => {
    if (value !== undefined) options[key] = value;
  };
  set("id", flags.text("id"));
  set("repositoryPollSecs", flags.number("repository-poll-secs"));
  set("strictReadiness", flags.flag("strict-readiness"));
  set("exitOnError", flags.flag("exit-on-error"));
  set("disableAutoCompleteConfig", flags.flag("disable-auto-complete-config"));
  set("strictModelConfig", flags.flag("strict-model-config"));
  set("modelConfigName", flags.text("model-config-name"));
  set("modelLoadThreadCount", flags.number("model-load-thread-count"));
  set("modelLoadRetryCount", flags.number("model-load-retry-count"));
  set("exitTimeoutSecs", flags.number("exit-timeout-secs"));
  set("logVerbose", flags.number("log-verbose"));
  set("logInfo", flags.flag("log-info"));
  set("logWarning", flags.flag("log-warning"));
  set("logError", flags.flag("log-error"));
  set("logFormat", flags.oneOf("log-format", ["default", "ISO8601"]));
  set("defaultMaxBatchSize", readBackendOptions(flags.all("backend-config")).defaultMaxBatchSize);
  set("responseCacheByteSize", flags.number("response-cache-byte-size"));
  set("httpMaxInputSize", flags.number("http-max-input-size"));
  set("httpHeaderForwardPattern", flags.text("http-header-forward-pattern"));
  set("grpcHeaderForwardPattern", flags.text("grpc-header-forward-pattern"));
  set(
    "grpcInferResponseCompressionLevel",
    flags.oneOf("grpc-infer-response-compression-level", ["none", "low", "medium", "high"]),
  );
  set("allowMetrics", flags.flag("allow-metrics"));
  set("rateLimit", flags.oneOf("rate-limit", ["off", "execution_count"]));
  set("requestRateLimit", flags.text("request-rate-limit"));
  set("maxInflightBytes", flags.number("max-inflight-bytes"));
  set("gpuFallback", flags.oneOf("gpu-fallback", ["cpu", "error"]));
  set("foldGpus", flags.flag("fold-gpus"));
  set("threads", flags.number("threads"));
  set("verify", flags.oneOf("verify", ["auto", "always", "off"]));
  return options;
}

function rateLimitResource(text: string): RateLimitResource {
  const [, name, count, device] = /^([^:]+):(\d+)(?::(\d+))?$/.exec(text) ?? [];
  if (name === undefined) {
    throw new UsageError(`--rate-limit-resource must be NAME:COUNT[:DEVICE], but it is '${text}'`);
  }
  return { name, count: Number(count), ...(device !== undefined && { device: Number(device) }) };
}

function tls(flags: FlagReader, prefix: string): TlsFiles | undefined {
  // As in tritonserver, the one that asks for more needs not the other.
  const isMutual = flags.flag(`${prefix}-use-ssl-mutual`) === true;
  if (!isMutual && flags.flag(`${prefix}-use-ssl`) !== true) return undefined;
  const needed = (name: string): string => {
    const file = flags.text(`${prefix}-${name}`);
    if (file === undefined) throw new UsageError(`--${prefix}-use-ssl needs --${prefix}-${name}`);
    return file;
  };
  return {
    certificate: needed("server-cert"),
    key: needed("server-key"),
    clientRoots: isMutual ? needed("root-cert") : undefined,
  };
}
