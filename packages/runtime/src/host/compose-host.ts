import { engineFiles, prepareOnnx } from "@naiad/backend-onnxruntime";
import type { Capabilities, Clock, FileStore, Logger, RepositorySource } from "@naiad/core";
import { createInferenceServer } from "@naiad/core";
import { createHttpHandler } from "@naiad/http";
import type { FaultHook, LockManagerLike } from "@naiad/link";
import { whenDead } from "@naiad/link";
import { encodeConfig } from "@naiad/model-config";
import type { RepositoryLocation, ServerOptions } from "@naiad/protocol";
import type { HostStart } from "../contracts.ts";
import { aliveLock, WIRE_VERSION } from "../contracts.ts";
import { lockDownloads } from "../storage/lock-downloads.ts";
import { SERVER_VERSION } from "../version.ts";
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
  probe(): Promise<Capabilities>;
  openStore(name: string, logger: Logger): Promise<FileStore>;
  openSource(location: RepositoryLocation, store: FileStore, logger: Logger): RepositorySource;
}

/** Puts the whole server together. */
export async function composeHost(start: HostStart, platform: HostPlatform): Promise<HostParts> {
  const { assets } = start;
  const { clock, locks, newId } = platform;
  const logger = createLogBook({
    epochMs: () => clock.epochMs(),
    sink: platform.writeLog,
    verboseLevel: start.options.logVerbose,
  });
  const [capabilities, store] = await Promise.all([
    platform.probe(),
    platform.openStore(start.storageName, logger),
  ]);
  const succession = createSuccession(store, logger);
  const options = await succeed(start, succession);
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
      prepareOnnx(model, { ...prepareOptions, defaultMaxBatchSize: options.defaultMaxBatchSize }),
    workers,
    limits: options.limits,
    encodeConfig,
    newId,
  });
  const server = createInferenceServer({
    options,
    sources: options.modelRepositories.map((location) => platform.openSource(location, store, logger)),
    store,
    digest: createDigest(platform.subtle),
    backends: [onnxruntime],
    capabilities,
    clock,
    logger,
    downloadLock: lockDownloads(locks),
    version: SERVER_VERSION,
  });
  let isServing = true;
  server.subscribe((event) => {
    // What a stop unloads stays for the successor.
    if (event.kind === "model" && isServing) {
      succession.leave(start.hostId, [...new Set(server.instances().map(({ modelName }) => modelName))]);
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

/**
 * The options to run with: a successor loads what its predecessor served. A model of these that cannot be loaded any more
 * is no reason to end a server that others use.
 */
async function succeed({ options, successorOf }: HostStart, succession: Succession): Promise<ServerOptions> {
  if (successorOf === undefined || options.modelControlMode !== "explicit") return options;
  const inherited = await succession.inheritedFrom(successorOf);
  return inherited === undefined ? options : { ...options, loadModels: inherited, exitOnError: false };
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
