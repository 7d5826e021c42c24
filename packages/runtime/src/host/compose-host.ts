import { ENGINE_VERSION, engineFiles, prepareOnnx } from "@naiad/backend-onnxruntime";
import type {
  Backend,
  Capabilities,
  Clock,
  FileStore,
  LogControl,
  Logger,
  MachineMetrics,
  RepositorySource,
  TraceControl,
} from "@naiad/core";
import {
  createCustomMetrics,
  createInferenceServer,
  createLogControl,
  createTraceControl,
  createTracing,
  createVerifiedBackend,
} from "@naiad/core";
import { createGrpcHandler } from "@naiad/grpc";
import { createHttpHandler } from "@naiad/http";
import type { FaultHook, LockManagerLike } from "@naiad/link";
import { whenDead } from "@naiad/link";
import { encodeConfig } from "@naiad/model-config";
import type { RepositoryLocation } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { HostStart } from "../contracts.ts";
import { aliveLock, WIRE_VERSION } from "../contracts.ts";
import { lockDownloads } from "../storage/lock-downloads.ts";
import { lockStore } from "../storage/lock-store.ts";
import { NAIAD_VERSION, SERVER_VERSION } from "../version.ts";
import { compress } from "./compress.ts";
import { decompress } from "./decompress.ts";
import { createDigest } from "./digest.ts";
import { createJavaScriptBackend } from "./javascript-backend.ts";
import { createServedFiles, serveOverHttp, withServedFiles } from "./served-files.ts";
import type { WorkerServices } from "./worker-services.ts";
import type { Subscribe } from "./event-stream.ts";
import type { HostParts } from "./host.ts";
import { createInstanceWorkers } from "./instance-workers.ts";
import { createLogBook } from "./log-book.ts";
import type { LogBook, LogSink } from "./log-book.ts";
import { hasLocks } from "./platform-locks.ts";
import { createSuccession } from "./succession.ts";
import type { Succession } from "./succession.ts";
import { createSharedWasmModule } from "./shared-wasm-module.ts";
import { createStorageUse } from "./storage-use.ts";
import type { CompileModule } from "./shared-wasm-module.ts";
import { createTraceBook } from "./trace-book.ts";
import type { Will } from "./will.ts";
import { within } from "./within.ts";
import { createWorkerBackend } from "./worker-backend.ts";
import type { ServeModelFiles } from "./worker-backend.ts";
import type { WorkerSpawner } from "./worker-spawner.ts";

/** Everything that a host needs from the place it runs in. */
export interface HostPlatform {
  readonly clock: Clock;
  readonly locks: LockManagerLike;
  readonly spawner: WorkerSpawner;
  /** Absent without a secure context. */
  readonly subtle: Pick<SubtleCrypto, "digest"> | undefined;
  readonly hasJspi: boolean;
  readonly compileModule: CompileModule;
  readonly newId: () => string;
  readonly writeLog: LogSink;
  readonly fault?: FaultHook;
  /** How workers get at the modules of a model. Absent: over HTTP, where the start names an address, or not at all. */
  readonly serveFiles?: ServeModelFiles;
  /** Beside ONNX Runtime. */
  readonly backends?: readonly Backend[];
  /** What the origin has stored and may store. Absent where that has no such bounds. */
  readonly estimateStorage?: () => Promise<Pick<StorageEstimate, "quota" | "usage">>;
  probe(): Promise<Capabilities>;
  openStore(name: string, logger: Logger): Promise<FileStore>;
  openSource(location: RepositoryLocation, store: FileStore, logger: Logger): RepositorySource;
}

/** Puts the whole server together. */
export async function composeHost(start: HostStart, platform: HostPlatform): Promise<HostParts> {
  const { assets } = start;
  const { clock, locks, newId } = platform;
  let leaveWill = (): void => undefined;
  const onChange = (): void => {
    leaveWill();
  };
  let cancelLeaving: (() => void) | undefined;
  const logControl = createLogControl(start.options, { onChange });
  const { traceConfig } = start.options;
  const traceBook = createTraceBook({ readers: traceConfig.destination === "file" ? "one" : "any" });
  const traceControl = createTraceControl({
    config: traceConfig,
    onChange,
    onCounted: () => {
      cancelLeaving ??= clock.after(COUNT_DELAY_NS, () => {
        cancelLeaving = undefined;
        leaveWill();
      });
    },
    onEnded: (setting) => {
      traceBook.settingEnded(setting);
    },
  });
  const tracing = createTracing({
    control: traceControl,
    mode: traceConfig.mode,
    sink: traceBook,
    clock,
    serves: (modelName) => server.serves(modelName),
  });
  const logger = createLogBook({
    epochMs: () => clock.epochMs(),
    sink: platform.writeLog,
    control: logControl,
  });
  const [capabilities, store] = await Promise.all([
    platform.probe(),
    platform.openStore(start.storageName, logger),
  ]);
  const succession = createSuccession(store, logger);
  const will = await willFor(start, succession);
  if (will !== undefined) takeOverSettings(will, { logControl, traceControl, logger });
  const inherited = start.options.modelControlMode === "explicit" ? will?.models : undefined;
  // A model that cannot be loaded any more is no reason to end a server that others use.
  const options = inherited === undefined ? start.options : { ...start.options, exitOnError: false };
  const customMetrics = createCustomMetrics();
  const digest = createDigest(platform.subtle);
  const servedFiles = createServedFiles(digest);
  // Models ask the server only when it has loaded them.
  const services: WorkerServices = {
    operations: {
      modelInfer: (input, context) => server.modelInfer(input, context),
      modelStreamInfer: (input, context) => server.modelStreamInfer(input, context),
      repositoryModelLoad: (input, context) => server.repositoryModelLoad(input, context),
      repositoryModelUnload: (input, context) => server.repositoryModelUnload(input, context),
      modelReady: (input, context) => server.modelReady(input, context),
    },
    metrics: customMetrics,
    tracing,
  };
  const workers = createInstanceWorkers({
    spawner: platform.spawner,
    clock,
    logger,
    assets,
    hasJspi: platform.hasJspi,
    wasmModule: createSharedWasmModule({
      url: assets.ort + engineFiles("wasm").wasm,
      compile: platform.compileModule,
      clock,
      limitMs: options.limits.createMs,
      logger,
    }),
    limits: options.limits,
    services,
    newId,
    whenDead: (workerId, signal) => whenDead(locks, aliveLock(workerId), signal),
    ...(platform.fault && { fault: platform.fault }),
  });
  const onnxruntime = createWorkerBackend({
    name: "onnxruntime",
    engine: "onnxruntime",
    prepare: (model, prepareOptions) =>
      prepareOnnx(model, {
        ...prepareOptions,
        defaultMaxBatchSize: options.defaultMaxBatchSize,
        warn: (message) => {
          logger.log("warning", message);
        },
      }),
    workers,
    limits: options.limits,
    encodeConfig,
    newId,
    warn: (message) => {
      logger.log("warning", message);
    },
  });
  const { filesUrl } = start;
  const serveFiles =
    platform.serveFiles ?? (filesUrl === undefined ? undefined : serveOverHttp(servedFiles, filesUrl));
  const javascript = createJavaScriptBackend({
    ...(serveFiles !== undefined && { serveFiles }),
    workers,
    limits: options.limits,
    encodeConfig,
    newId,
    warn: (message) => {
      logger.log("warning", message);
    },
  });
  const build = platform.hasJspi ? "jspi" : "asyncify";
  const verified = createVerifiedBackend(onnxruntime, {
    store,
    digest,
    capabilities,
    engine: `onnxruntime-web ${ENGINE_VERSION} ${build}, naiad ${NAIAD_VERSION}`,
    logger,
  });
  const storageUse = platform.estimateStorage && createStorageUse(platform.estimateStorage);
  let machine: MachineMetrics | undefined;
  const server = createInferenceServer({
    options,
    sources: options.modelRepositories.map((location) => platform.openSource(location, store, logger)),
    store,
    digest,
    backends: [verified, javascript, ...(platform.backends ?? [])],
    capabilities,
    clock,
    logger,
    logControl,
    traces: { control: traceControl, tracing },
    customMetrics,
    placeMetrics: () => {
      const storage = storageUse?.();
      return { ...workers.report(), ...(storage !== undefined && { storage }) };
    },
    machineMetrics: () => machine,
    downloadLock: lockDownloads(locks),
    ...(hasLocks(locks) && { storeLocks: lockStore(locks, start.storageName) }),
    keptFiles: async () => (await succession.latest())?.models.flatMap(({ files = [] }) => files) ?? [],
    ...(inherited && { inherited }),
    version: SERVER_VERSION,
  });
  let isServing = true;
  leaveWill = () => {
    // What a stop unloads stays for the successor.
    if (!isServing) return;
    succession.leave({
      hostId: start.hostId,
      models: server.servedModels(),
      log: { ...logControl.settings, log_file: null },
      trace: traceControl.overrides(),
    });
  };
  server.subscribe((event) => {
    if (event.kind === "model") leaveWill();
  });
  return {
    services: {
      info: { hostId: start.hostId, wireVersion: WIRE_VERSION, options: start.options, capabilities },
      operations: server,
      instances: () => server.instances(),
      subscribe: bothOf((listener) => server.subscribe(listener), logger),
      handleExchange: withServedFiles(
        createHttpHandler({
          handlers: server,
          tracing,
          maxInputSize: options.httpMaxInputSize,
          decompress,
          compress,
          restrictedApis: options.httpRestrictedApis,
          headerForwardPattern: options.httpHeaderForwardPattern,
          ...(start.cors && { cors: start.cors }),
        }),
        servedFiles,
      ),
      handleGrpc: createGrpcHandler({
        handlers: server,
        tracing,
        compression: { compress, decompress },
        compressedResponses: options.grpcInferResponseCompressionLevel === "none" ? "none" : "long",
        restrictedProtocols: options.grpcRestrictedProtocols,
        headerForwardPattern: options.grpcHeaderForwardPattern,
      }),
      setMachineMetrics: (metrics) => {
        machine = metrics;
      },
      tracing,
      traces: (signal) => traceBook.read(signal),
    },
    log: (level, message) => {
      logger.log(level, message);
    },
    start: async (signal) => {
      await server.start(signal);
      const ready = await server.repositoryIndex({ ready: true }, { signal });
      if (ready.length === 0) logger.log("info", "No model available");
    },
    stop: async () => {
      if (cancelLeaving !== undefined) leaveWill();
      cancelLeaving?.();
      isServing = false;
      try {
        await server.stop();
        // What end points still do for what was answered.
        await within(clock, TRACES_LIMIT_MS, tracing.whole());
      } finally {
        traceBook.close();
        workers.stop();
      }
    },
  };
}

const TRACES_LIMIT_MS = 1000;
/** Traces that are counted are not worth a write each. */
const COUNT_DELAY_NS = 200e6;

/** Of the predecessor, where this host takes over from one. */
function willFor({ successorOf }: HostStart, succession: Succession): Promise<Will | undefined> {
  return successorOf === undefined ? Promise.resolve(undefined) : succession.inheritedFrom(successorOf);
}

interface Settings {
  readonly logControl: LogControl;
  readonly traceControl: TraceControl;
  readonly logger: Logger;
}

/** Settings that this version does not take any more are no reason not to serve. */
function takeOverSettings({ log, trace }: Will, { logControl, traceControl, logger }: Settings): void {
  try {
    logControl.update(log);
    for (const override of trace) traceControl.restore(override);
  } catch (thrown) {
    const reason = InferenceError.from(thrown).message;
    logger.log("warning", `settings of the server before this one are given up: ${reason}`);
  }
}

/** The server's events, and as log events the lines of the whole host, of which the server's own are only a part. */
function bothOf(subscribe: Subscribe, log: LogBook): Subscribe {
  return (listener) => {
    const ends = [
      subscribe((event) => {
        if (event.kind !== "log") listener(event);
      }),
      log.subscribe((line) => {
        listener({ kind: "log", ...line });
      }),
    ];
    return () => {
      for (const end of ends) end();
    };
  };
}
