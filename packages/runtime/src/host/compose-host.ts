import { ENGINE_VERSION, engineFiles, prepareOnnx } from "@naiad/backend-onnxruntime";
import type {
  Backend,
  Capabilities,
  Clock,
  FileStore,
  LoadOrigin,
  Logger,
  RepositorySource,
} from "@naiad/core";
import { createInferenceServer, createLogControl, createVerifiedBackend } from "@naiad/core";
import { createHttpHandler } from "@naiad/http";
import type { FaultHook, LockManagerLike } from "@naiad/link";
import { whenDead } from "@naiad/link";
import { encodeConfig } from "@naiad/model-config";
import type { RepositoryLocation } from "@naiad/protocol";
import type { HostStart } from "../contracts.ts";
import { aliveLock, WIRE_VERSION } from "../contracts.ts";
import { lockDownloads } from "../storage/lock-downloads.ts";
import { NAIAD_VERSION, SERVER_VERSION } from "../version.ts";
import { compress } from "./compress.ts";
import { decompress } from "./decompress.ts";
import { createDigest } from "./digest.ts";
import type { Subscribe } from "./event-stream.ts";
import type { HostParts } from "./host.ts";
import { createInstanceWorkers } from "./instance-workers.ts";
import { createLogBook } from "./log-book.ts";
import type { LogBook, LogLine } from "./log-book.ts";
import { createSuccession } from "./succession.ts";
import type { Succession } from "./succession.ts";
import { createSharedWasmModule } from "./shared-wasm-module.ts";
import type { CompileModule } from "./shared-wasm-module.ts";
import { createWorkerBackend } from "./worker-backend.ts";
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
  readonly writeLog: (line: LogLine) => void;
  readonly fault?: FaultHook;
  /** Beside ONNX Runtime. */
  readonly backends?: readonly Backend[];
  probe(): Promise<Capabilities>;
  openStore(name: string, logger: Logger): Promise<FileStore>;
  openSource(location: RepositoryLocation, store: FileStore, logger: Logger): RepositorySource;
}

/** Puts the whole server together. */
export async function composeHost(start: HostStart, platform: HostPlatform): Promise<HostParts> {
  const { assets } = start;
  const { clock, locks, newId } = platform;
  const logControl = createLogControl(start.options);
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
  const inherited = await inheritance(start, succession);
  // A model that cannot be loaded any more is no reason to end a server that others use.
  const options = inherited === undefined ? start.options : { ...start.options, exitOnError: false };
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
    newId,
    whenDead: (workerId, signal) => whenDead(locks, aliveLock(workerId), signal),
    ...(platform.fault && { fault: platform.fault }),
  });
  const onnxruntime = createWorkerBackend({
    name: "onnxruntime",
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
  });
  const digest = createDigest(platform.subtle);
  const build = platform.hasJspi ? "jspi" : "asyncify";
  const verified = createVerifiedBackend(onnxruntime, {
    store,
    digest,
    capabilities,
    engine: `onnxruntime-web ${ENGINE_VERSION} ${build}, naiad ${NAIAD_VERSION}`,
    logger,
  });
  const server = createInferenceServer({
    options,
    sources: options.modelRepositories.map((location) => platform.openSource(location, store, logger)),
    store,
    digest,
    backends: [verified, ...(platform.backends ?? [])],
    capabilities,
    clock,
    logger,
    logControl,
    downloadLock: lockDownloads(locks),
    ...(inherited && { inherited }),
    version: SERVER_VERSION,
  });
  let isServing = true;
  server.subscribe((event) => {
    // What a stop unloads stays for the successor.
    if (event.kind === "model" && isServing) {
      succession.leave(start.hostId, server.servedModels());
    }
  });
  return {
    services: {
      info: { hostId: start.hostId, wireVersion: WIRE_VERSION, options: start.options, capabilities },
      operations: server,
      instances: () => server.instances(),
      subscribe: bothOf((listener) => server.subscribe(listener), logger),
      handleExchange: createHttpHandler({
        handlers: server,
        maxInputSize: options.httpMaxInputSize,
        decompress,
        compress,
        restrictedApis: options.httpRestrictedApis,
        headerForwardPattern: options.httpHeaderForwardPattern,
      }),
    },
    start: (signal) => server.start(signal),
    stop: async () => {
      isServing = false;
      try {
        await server.stop();
      } finally {
        workers.stop();
      }
    },
  };
}

/** What the predecessor served, where this host takes over from one whose models were loaded by request. */
function inheritance(
  { options, successorOf }: HostStart,
  succession: Succession,
): Promise<readonly LoadOrigin[] | undefined> {
  if (successorOf === undefined || options.modelControlMode !== "explicit") return Promise.resolve(undefined);
  return succession.inheritedFrom(successorOf);
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
