import { printConfig } from "@naiad/model-config";
import type {
  Capabilities,
  InstanceReport,
  ModelReference,
  OperationHandlers,
  ServerEvent,
  ServerOptions,
} from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { ModelLifecycle } from "./lifecycle/model-lifecycle.ts";
import { createModelLifecycle } from "./lifecycle/model-lifecycle.ts";
import { createModelLoader } from "./lifecycle/model-loader.ts";
import type { LoadOrigin, ServingVersion } from "./lifecycle/serving-version.ts";
import type { Backend, Clock, Digest, FileStore, Logger, RepositorySource } from "./ports.ts";
import type { DownloadLock } from "./repository/fetch-files.ts";
import { answerStatistics } from "./server/answer-statistics.ts";
import { createEventHub } from "./server/event-hub.ts";
import type { LogControl } from "./server/log-settings.ts";
import { createLogControl } from "./server/log-settings.ts";
import { createModelControl } from "./server/model-control.ts";
import { modelMetadata } from "./server/model-metadata.ts";
import { parseModelVersion, unknownVersion } from "./server/model-version-text.ts";
import { repositoryIndex } from "./server/repository-index.ts";
import { runInference } from "./server/run-inference.ts";
import { SHARED_MEMORY } from "./server/shared-memory.ts";
import { createTraceControl } from "./server/trace-settings.ts";

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
  readonly downloadLock?: DownloadLock;
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
  "model_repository",
  "schedule_policy",
  "model_configuration",
  "binary_tensor_data",
  "parameters",
  "statistics",
  "trace",
  "logging",
];

type ServerState = "initializing" | "ready" | "exiting";

export function createInferenceServer(dependencies: InferenceServerOptions): InferenceServer {
  const { options, clock, version } = dependencies;
  const hub = createEventHub();
  const logControl = dependencies.logControl ?? createLogControl(options);
  const traceControl = createTraceControl();
  const logger: Logger = {
    log: (level, message) => {
      if (!logControl.accepts(level)) return;
      dependencies.logger.log(level, message);
      hub.emit({ kind: "log", level, message, epochMs: clock.epochMs() });
    },
  };
  const lifecycle = createModelLifecycle({
    logger,
    onChange: (modelName, state) => {
      hub.emit({ kind: "model", modelName, ...state, version: String(state.version) });
    },
  });
  let loads = 0;
  const loader = createModelLoader({
    ...dependencies,
    logger,
    busyThreads: () => busyThreads(lifecycle),
    nextOwner: (modelName, modelVersion) => `${modelName}:${String(modelVersion)}:${String((loads += 1))}`,
    onDownload: (modelName, progress) => {
      hub.emit({ kind: "progress", modelName, ...progress });
    },
    onCreate: (progress) => {
      hub.emit({ kind: "progress", phase: "create", ...progress });
    },
  });
  const control = createModelControl({ ...dependencies, lifecycle, loader, logger });
  const stopping = new AbortController();
  let state: ServerState = "initializing";
  let watching: Promise<void> = Promise.resolve();
  let stopped: Promise<void> | undefined;

  async function start(signal: AbortSignal): Promise<void> {
    const onAbort = (): void => {
      void stop();
    };
    signal.addEventListener("abort", onAbort, { once: true });
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
      await Promise.race([Promise.all([lifecycle.stop(), watching]), timeout]);
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

  function find({ modelName, modelVersion }: ModelReference): ServingVersion {
    const wanted = parseModelVersion(modelVersion);
    requireReady();
    const isPossible = wanted === undefined || Number.isSafeInteger(wanted);
    if (!isPossible && lifecycle.states(modelName).length > 0) throw unknownVersion(modelName, modelVersion);
    return lifecycle.find(modelName, wanted);
  }

  function requireReadyModel(modelName: string): void {
    requireReady();
    if (lifecycle.isReady(modelName, undefined)) return;
    throw new InferenceError("INVALID_ARG", `Request for unknown model : ${modelName}`);
  }

  function instances(): readonly InstanceReport[] {
    return lifecycle.ready().flatMap((serving) => serving.instances());
  }

  /* eslint-disable @typescript-eslint/require-await -- an operation answers with a promise, and an error is a rejection */
  return {
    start,
    stop,
    instances,
    servedModels: () => lifecycle.origins(),
    subscribe: (listener) => hub.subscribe(listener),

    serverLive: async () => {
      requireNotExiting();
      return { live: state === "ready" };
    },
    serverReady: async () => {
      requireNotExiting();
      return { ready: state === "ready" && (!options.strictReadiness || lifecycle.isHealthy) };
    },
    serverMetadata: async () => ({ name: options.id, version, extensions: EXTENSIONS }),
    modelReady: async ({ modelName, modelVersion }) => {
      const wanted = parseModelVersion(modelVersion);
      requireReady();
      return { ready: lifecycle.isReady(modelName, wanted) };
    },
    modelMetadata: async (reference) => {
      const serving = find(reference);
      const isAny = parseModelVersion(reference.modelVersion) === undefined;
      return modelMetadata(serving, isAny ? lifecycle.ready(reference.modelName) : [serving]);
    },
    modelConfig: async (reference) => printConfig(find(reference).config),
    modelStatistics: async (reference) => {
      requireReady();
      return answerStatistics(lifecycle, reference);
    },
    modelInfer: async (request, context) => runInference(find(request), request, context, clock),
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
    repositoryModelUnload: async ({ modelName }) => {
      requireReady();
      await control.unload(modelName);
      return {};
    },

    traceSetting: async ({ modelName, update }) => {
      if (modelName !== "") requireReadyModel(modelName);
      if (update !== undefined) traceControl.update(modelName, update);
      return traceControl.settings(modelName);
    },

    logSettings: async ({ update }) => {
      if (update !== undefined) logControl.update(update);
      return logControl.settings;
    },

    ...SHARED_MEMORY,
  };
  /* eslint-enable @typescript-eslint/require-await */
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
