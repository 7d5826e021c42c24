import type {
  Capabilities,
  InstanceReport,
  ModelReference,
  OperationHandlers,
  ServerEvent,
  ServerOptions,
} from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { createAdmission } from "./admission/admission.ts";
import { createByteBudget, defaultMaxInflightBytes } from "./admission/byte-budget.ts";
import type { ModelLifecycle } from "./lifecycle/model-lifecycle.ts";
import { createModelLifecycle } from "./lifecycle/model-lifecycle.ts";
import { createModelLoader } from "./lifecycle/model-loader.ts";
import type { LoadOrigin, ServingVersion } from "./lifecycle/serving-version.ts";
import type {
  Backend,
  Clock,
  Digest,
  FileStore,
  Logger,
  ModelFile,
  RepositorySource,
  StoreLocks,
  TraceSink,
} from "./ports.ts";
import { collectMetrics } from "./metrics/collect-metrics.ts";
import type { CustomMetrics } from "./metrics/custom-metrics.ts";
import type { MachineMetrics, MetricSources, PlaceMetrics } from "./metrics/metric-sources.ts";
import { writeMetrics } from "./metrics/write-metrics.ts";
import type { DownloadLock } from "./repository/fetch-files.ts";
import { createRateLimiter } from "./scheduling/rate-limiter.ts";
import { createResponseCache } from "./scheduling/response-cache/create-response-cache.ts";
import { createGarbageCollector } from "./repository/garbage-collector.ts";
import { createStoreUse } from "./repository/store-use.ts";
import { answerStatistics } from "./server/answer-statistics.ts";
import { createEventHub } from "./server/event-hub.ts";
import type { LogControl } from "./server/log-settings.ts";
import { createLogControl } from "./server/log-settings.ts";
import { createModelControl } from "./server/model-control.ts";
import { modelMetadata } from "./server/model-metadata.ts";
import { parseModelVersion, unknownVersion } from "./server/model-version-text.ts";
import { createConfigPrinter } from "./server/printed-config.ts";
import { repositoryIndex } from "./server/repository-index.ts";
import { runInference } from "./server/run-inference.ts";
import { SHARED_MEMORY } from "./server/shared-memory.ts";
import { streamInference } from "./server/stream-inference.ts";
import type { TraceControl } from "./trace/trace-control.ts";
import { createTraceControl } from "./trace/trace-control.ts";
import type { Tracing } from "./trace/tracing.ts";
import { createTracing } from "./trace/tracing.ts";

/** The server without a way to reach it: one method per operation, and nothing else is called from above. */
export interface InferenceServer extends OperationHandlers {
  /**
   * Loads the models that the control mode says. Rejects when one fails and `exitOnError` is set, or when `signal` fires
   * before it is done; the server is stopped then.
   */
  start(signal: AbortSignal): Promise<void>;
  /**
   * Refuses new requests, answers the accepted ones and frees everything; gives up waiting after `exitTimeoutSecs`.
   * Idempotent.
   */
  stop(): Promise<void>;
  /** Whether requests of the model can be taken on. */
  serves(modelName: string): boolean;
  /** What every model that is served was loaded with: `inherited` for a server that takes over. */
  servedModels(): readonly LoadOrigin[];
  /** Instances of every served model version and what they run on. */
  instances(): readonly InstanceReport[];
  /** From now on, until the returned function is called. A listener must not throw. */
  subscribe(listener: (event: ServerEvent) => void): () => void;
}

export interface InferenceServerOptions {
  readonly options: ServerOptions;
  readonly sources: readonly RepositorySource[];
  readonly store: FileStore;
  readonly digest: Digest;
  readonly backends: readonly Backend[];
  readonly capabilities: Capabilities;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where others than this server follow the log settings too. Default: one of its own, as the options say. */
  readonly logControl?: LogControl;
  /** What is traced, where others than this server have a part in that. Default: nothing, by settings of its own. */
  readonly traces?: { readonly control: TraceControl; readonly tracing: Tracing };
  readonly downloadLock?: DownloadLock;
  /** What the server runs in. Asked for each time that metrics are told, as the next. */
  readonly placeMetrics?: () => PlaceMetrics;
  /** The machine. `undefined` where nobody tells of it, as in a page. */
  readonly machineMetrics?: () => MachineMetrics | undefined;
  /** What models keep themselves; told with the server's own. */
  readonly customMetrics?: CustomMetrics;
  /** By which the servers over one store know what others use of it. Absent: nothing is ever removed from the store. */
  readonly storeLocks?: StoreLocks;
  /** Files that must stay in the store although neither a repository nor a served model names them. */
  readonly keptFiles?: () => Promise<readonly ModelFile[]>;
  /**
   * What a server over the same store served before this one, which loads it at start instead of `loadModels`: only in
   * mode explicit.
   */
  readonly inherited?: readonly LoadOrigin[];
  /** For the server metadata: a version of Triton whose behaviour this is, and our own. */
  readonly version: string;
}

/** Only what really works here. */
const EXTENSIONS: readonly string[] = [
  "classification",
  "sequence",
  "model_repository",
  "model_repository(unload_dependents)",
  "schedule_policy",
  "model_configuration",
  "binary_tensor_data",
  "parameters",
  "statistics",
  "trace",
  "logging",
];

type ServerState = "created" | "initializing" | "ready" | "exiting";

export function createInferenceServer(dependencies: InferenceServerOptions): InferenceServer {
  const { options, clock, storeLocks, version } = dependencies;
  const hub = createEventHub();
  const printed = createConfigPrinter();
  const logControl = dependencies.logControl ?? createLogControl(options);
  const traces = dependencies.traces ?? untraced(options, clock);
  const logger: Logger = {
    log: (level, message) => {
      if (!logControl.accepts(level)) return;
      dependencies.logger.log(level, message);
      hub.emit({ kind: "log", level, message, epochMs: clock.epochMs() });
    },
  };
  const lifecycle = createModelLifecycle({
    logger,
    loadThreadCount: options.modelLoadThreadCount,
    onChange: (modelName, state) => {
      hub.emit({ kind: "model", modelName, ...state, version: String(state.version) });
    },
  });
  const responseCache = createResponseCache(options.cacheConfig, { clock, logger });
  const budget = createByteBudget(
    options.maxInflightBytes || defaultMaxInflightBytes(dependencies.capabilities),
  );
  const admission = createAdmission({ budget, requestRateLimit: options.requestRateLimit, clock });
  const inference = { find, clock, admission, tracing: traces.tracing };
  let loads = 0;
  const loader = createModelLoader({
    ...dependencies,
    logger,
    responseCache,
    storeUse: createStoreUse(storeLocks),
    rateLimiter: options.rateLimit === "off" ? undefined : createRateLimiter(options.rateLimitResources),
    busyThreads: () => busyThreads(lifecycle),
    findServing: (modelName, modelVersion) => lifecycle.find(modelName, modelVersion),
    nextOwner: (modelName, modelVersion) => `${modelName}:${String(modelVersion)}:${String((loads += 1))}`,
    onDownload: (modelName, progress) => {
      hub.emit({ kind: "progress", modelName, ...progress });
    },
    onCreate: (progress) => {
      hub.emit({ kind: "progress", phase: "create", ...progress });
    },
  });
  const control = createModelControl({ ...dependencies, lifecycle, loader, logger });
  const garbage =
    storeLocks === undefined
      ? undefined
      : createGarbageCollector({ ...dependencies, locks: storeLocks, logger, wanted: wantedFiles });
  hub.subscribe(({ kind }) => {
    if (kind === "model") garbage?.request();
  });
  const stopping = new AbortController();
  let state: ServerState = "created";
  let watching: Promise<void> = Promise.resolve();
  let stopped: Promise<void> | undefined;

  async function wantedFiles(): Promise<readonly ModelFile[] | undefined> {
    const known = control.knownFiles();
    if (known === undefined || state !== "ready") return undefined;
    const served = lifecycle.origins().flatMap(({ files = [] }) => files);
    return [...known, ...served, ...((await dependencies.keptFiles?.()) ?? [])];
  }

  async function start(signal: AbortSignal): Promise<void> {
    const onAbort = (): void => {
      void stop();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    if (state === "created") state = "initializing";
    try {
      signal.throwIfAborted();
      await control.loadInitial(signal);
    } catch (thrown) {
      if (signal.aborted || options.exitOnError || isContradiction(thrown)) {
        await stop();
        throw thrown;
      }
      logger.log("error", InferenceError.from(thrown).message);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
    requireNotExiting();
    state = "ready";
    garbage?.request();
    watching = control.watch(stopping.signal);
  }

  function stop(): Promise<void> {
    stopped ??= stopOnce();
    return stopped;
  }

  async function stopOnce(): Promise<void> {
    state = "exiting";
    stopping.abort(new InferenceError("CANCELLED", "the server is stopping"));
    let cancelTimer = (): void => undefined;
    const timeout = new Promise<void>((resolve) => {
      cancelTimer = clock.after(options.exitTimeoutSecs * 1e9, () => {
        logger.log("error", "Exit timeout expired. Exiting immediately.");
        resolve();
      });
    });
    try {
      await Promise.race([Promise.all([lifecycle.stop(), watching, garbage?.stop()]), timeout]);
    } finally {
      cancelTimer();
    }
  }

  function requireNotExiting(): void {
    if (state === "exiting") throw new InferenceError("UNAVAILABLE", "Server exiting");
  }

  function requireReady(): void {
    if (state !== "ready") throw new InferenceError("UNAVAILABLE", "Server not ready");
  }

  /** What a request means. Throws for versions that no model can have. */
  function wantedVersion({ modelName, modelVersion }: ModelReference): number | undefined {
    const wanted = parseModelVersion(modelVersion);
    requireReady();
    const isPossible = wanted === undefined || Number.isSafeInteger(wanted);
    if (!isPossible && lifecycle.states(modelName).length > 0) throw unknownVersion(modelName, modelVersion);
    return wanted;
  }

  function find(reference: ModelReference): ServingVersion {
    return lifecycle.find(reference.modelName, wantedVersion(reference));
  }

  function requireReadyModel(modelName: string): void {
    requireReady();
    if (lifecycle.isReady(modelName, undefined)) return;
    throw new InferenceError("INVALID_ARG", `Request for unknown model : ${modelName}`);
  }

  function metricSources(): MetricSources {
    const machine = dependencies.machineMetrics?.();
    const place = dependencies.placeMetrics?.();
    return {
      versions: lifecycle.ready(),
      latencyCounters: options.metricsConfig.counterLatencies ? "told" : "left out",
      ...(responseCache !== undefined && { responseCache: responseCache.counters() }),
      requestBytes: budget,
      adapters: dependencies.capabilities.gpus,
      ...(place !== undefined && { place }),
      ...(machine !== undefined && { machine }),
      ...(dependencies.customMetrics !== undefined && { custom: dependencies.customMetrics }),
    };
  }

  function instances(): readonly InstanceReport[] {
    return lifecycle.ready().flatMap((serving) => serving.instances());
  }

  /* eslint-disable @typescript-eslint/require-await -- an operation answers with a promise, and an error is a rejection */
  return {
    start,
    stop,
    instances,
    serves: (modelName) => state === "ready" && lifecycle.isReady(modelName, undefined),
    servedModels: () => lifecycle.origins(),
    subscribe: (listener) => hub.subscribe(listener),

    serverLive: async () => {
      requireNotExiting();
      // As in Triton, also while models are loaded.
      return { live: state !== "created" };
    },
    serverReady: async () => {
      requireNotExiting();
      return { ready: state === "ready" && (!options.strictReadiness || lifecycle.isHealthy) };
    },
    serverMetadata: async () => ({
      name: options.id,
      version,
      extensions: EXTENSIONS,
      parameters: { clock_resolution_ns: clock.resolutionNs },
    }),
    modelReady: async (reference) => {
      const ready = lifecycle.isReady(reference.modelName, wantedVersion(reference));
      if (ready) await find(reference).checkReady?.();
      return { ready };
    },
    modelMetadata: async (reference) => {
      const serving = find(reference);
      const isAny = parseModelVersion(reference.modelVersion) === undefined;
      return modelMetadata(serving, isAny ? lifecycle.ready(reference.modelName) : [serving]);
    },
    modelConfig: async (reference) => printed(find(reference).config),
    modelStatistics: async (reference) => {
      requireReady();
      return answerStatistics(lifecycle, reference);
    },
    serverMetrics: async () => {
      if (!options.allowMetrics) throw new InferenceError("UNSUPPORTED", "metrics not supported");
      return { text: writeMetrics(collectMetrics(metricSources())) };
    },
    modelInfer: (request, context) => runInference(request, context, inference),
    modelStreamInfer: (request, context) => streamInference(request, context, inference),
    repositoryIndex: async (input, { signal }) => {
      requireReady();
      const snapshot = await control.readRepositories(signal);
      return repositoryIndex(snapshot, (name) => lifecycle.states(name), instances(), input);
    },
    repositoryModelLoad: async (request) => {
      requireReady();
      await control.load(request);
      return {};
    },
    repositoryModelUnload: async (request) => {
      requireReady();
      await control.unload(request);
      return {};
    },

    traceSetting: async ({ modelName, update }) => {
      if (modelName !== "") requireReadyModel(modelName);
      if (update !== undefined) traces.control.update(modelName, update);
      return traces.control.settings(modelName);
    },

    logSettings: async ({ update }) => {
      if (update !== undefined) logControl.update(update);
      return logControl.settings;
    },

    ...SHARED_MEMORY,
  };
  /* eslint-enable @typescript-eslint/require-await */
}

/** Without a place for traces Triton refuses to trace, and takes every other setting. */
function untraced(
  { traceConfig }: ServerOptions,
  clock: Clock,
): NonNullable<InferenceServerOptions["traces"]> {
  const control = createTraceControl({ config: { ...traceConfig, destination: "file", file: "" } });
  const sink: TraceSink = { collect: () => undefined, settingEnded: () => undefined };
  return { control, tracing: createTracing({ control, mode: "triton", sink, clock }) };
}

/** Options that exclude each other stop the server whatever `exitOnError` says. */
function isContradiction(thrown: unknown): boolean {
  return thrown instanceof InferenceError && thrown.code === "INVALID_ARG";
}

function busyThreads(lifecycle: ModelLifecycle): number {
  const devices = lifecycle.ready().flatMap((serving) => serving.instances().map(({ device }) => device));
  return devices.reduce(
    (sum, device) => sum + (device?.executionProvider === "wasm" ? device.threads : 0),
    0,
  );
}
