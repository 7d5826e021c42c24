import type {
  Backend,
  Capabilities,
  FileStore,
  InferenceServer,
  LoadOrigin,
  MachineMetrics,
  ModelFile,
  ModelInstance,
  PlaceMetrics,
  StoreLocks,
  Tracing,
} from "@naiad/core";
import { createInferenceServer, createMemoryFileStore, createTraceControl, createTracing } from "@naiad/core";
import type {
  InferenceRequest,
  InferenceResponse,
  InferenceStreamResponse,
  ServerEvent,
  ServerOptions,
  Trace,
} from "@naiad/protocol";
import { DEFAULT_METRICS_CONFIG, DEFAULT_TRACE_CONFIG } from "@naiad/protocol";
import type { CollectingLogger } from "./collecting-logger.ts";
import { createCollectingLogger } from "./collecting-logger.ts";
import type { FakeBackend, FakeBackendOptions } from "./fake-backend.ts";
import { createFakeBackend } from "./fake-backend.ts";
import type { FakeClock } from "./fake-clock.ts";
import { createFakeClock } from "./fake-clock.ts";
import type { MemoryModel, MemoryRepository } from "./memory-repository.ts";
import { createMemoryRepository } from "./memory-repository.ts";
import { quickDigest } from "./quick-digest.ts";

/** The defaults of `startServer`, with limits that no test reaches. */
export const SERVER_OPTIONS: ServerOptions = {
  id: "triton",
  modelRepositories: [],
  modelControlMode: "explicit",
  loadModels: [],
  repositoryPollSecs: 15,
  strictReadiness: true,
  exitOnError: true,
  disableAutoCompleteConfig: false,
  modelConfigName: "",
  modelLoadThreadCount: 4,
  modelLoadRetryCount: 0,
  exitTimeoutSecs: 30,
  logVerbose: 0,
  logInfo: true,
  logWarning: true,
  logError: true,
  logFormat: "default",
  defaultMaxBatchSize: 4,
  cacheConfig: { kind: "none" },
  httpMaxInputSize: 64 * 1024 * 1024,
  httpRestrictedApis: [],
  httpHeaderForwardPattern: "",
  grpcRestrictedProtocols: [],
  grpcHeaderForwardPattern: "",
  grpcInferResponseCompressionLevel: "none",
  allowMetrics: true,
  metricsConfig: DEFAULT_METRICS_CONFIG,
  traceConfig: DEFAULT_TRACE_CONFIG,
  rateLimit: "off",
  rateLimitResources: [],
  requestRateLimit: { kind: "none" },
  maxInflightBytes: 0,
  gpuFallback: "cpu",
  allowSoftwareGpu: false,
  foldGpus: false,
  threads: 0,
  verify: "auto",
  limits: { createMs: 60_000, firstRunMs: 60_000, runMs: 60_000 },
};

export const CAPABILITIES: Capabilities = {
  gpus: [],
  crossOriginIsolated: true,
  hardwareConcurrency: 4,
  wasmMemoryLimitBytes: 2 ** 32,
};

/** A configuration for the fake backend, whose output `y` is a copy of its input `x`: one INT32 per row, batches of 4. */
export const ECHO_CONFIG = `
  backend: "fake"
  max_batch_size: 4
  input { name: "x" data_type: TYPE_INT32 dims: [1] }
  output { name: "y" data_type: TYPE_INT32 dims: [1] }
`;

/** A model of the fake backend with the given versions; `config` is added to `ECHO_CONFIG`. */
export function echoModel(versions: readonly number[] = [1], config = ""): MemoryModel {
  return {
    "config.pbtxt": `${ECHO_CONFIG}${config}`,
    ...Object.fromEntries(
      versions.map((version) => [`${String(version)}/model.fake`, `version ${String(version)}`]),
    ),
  };
}

export interface ServerBenchOptions {
  readonly models?: Readonly<Record<string, MemoryModel>>;
  readonly options?: Partial<ServerOptions>;
  readonly capabilities?: Partial<Capabilities>;
  readonly backend?: Omit<FakeBackendOptions, "clock">;
  /** Of the fake backend. */
  readonly prepare?: Backend["prepare"];
  readonly moreRepositories?: readonly MemoryRepository[];
  /** Of another bench, whose server this one follows. */
  readonly store?: FileStore;
  readonly inherited?: readonly LoadOrigin[];
  /** With them the server removes from the store what nobody needs. */
  readonly storeLocks?: StoreLocks;
  readonly keptFiles?: () => Promise<readonly ModelFile[]>;
  readonly placeMetrics?: () => PlaceMetrics;
  readonly machineMetrics?: () => MachineMetrics;
}

/** A whole server on a clock that stands still, with a repository in memory and a backend that plays a script. */
export interface ServerBench {
  readonly server: InferenceServer;
  readonly clock: FakeClock;
  readonly repository: MemoryRepository;
  readonly store: FileStore;
  readonly backend: FakeBackend;
  readonly logger: CollectingLogger;
  /** Everything but log lines, as far as it happened. */
  readonly events: readonly ServerEvent[];
  readonly tracing: Tracing;
  /** Those that are whole. */
  readonly traces: readonly Trace[];
  /** Instances made and not yet disposed. */
  readonly liveInstances: number;
  /** Starts the server; waits for it. */
  start(): Promise<void>;
  load(modelName: string, config?: string): Promise<void>;
  unload(modelName: string): Promise<void>;
  /** `name:version STATE reason` of each line of the index. */
  index(): Promise<readonly string[]>;
  /** One row with the number `value` for an echo model. */
  infer(modelName: string, value: number, options?: InferOptions): Promise<InferenceResponse>;
  /** As `infer`, for any number of responses. Resolves once the request was taken on. */
  stream(
    modelName: string,
    value: number,
    options?: InferOptions,
  ): Promise<AsyncIterable<InferenceStreamResponse>>;
  /** Lets promises go on until `condition` holds; throws when it never does. */
  until(condition: () => boolean): Promise<void>;
  /** Lets time pass until nothing more happens by itself. */
  finish(): Promise<void>;
}

export interface InferOptions {
  readonly version?: string;
  readonly id?: string;
  readonly priority?: number;
  readonly signal?: AbortSignal;
}

const FOR_EVER: AbortSignal = new AbortController().signal;

export function createServerBench(bench: ServerBenchOptions = {}): ServerBench {
  const clock = createFakeClock();
  const repository = createMemoryRepository(bench.models ?? {});
  const store = bench.store ?? createMemoryFileStore();
  const logger = createCollectingLogger();
  const backend = createFakeBackend({ ...bench.backend, clock });
  const live = new Set<ModelInstance>();
  const events: ServerEvent[] = [];
  const traces: Trace[] = [];
  const options: ServerOptions = { ...SERVER_OPTIONS, ...bench.options };
  const { traceConfig } = options;
  const control = createTraceControl({ config: traceConfig });
  const sink = { collect: (trace: Trace) => void traces.push(trace), settingEnded: () => undefined };
  const serves = (modelName: string): boolean => server.serves(modelName);
  const tracing = createTracing({ control, mode: traceConfig.mode, sink, clock, serves });
  const server = createInferenceServer({
    options,
    traces: { control, tracing },
    sources: [repository, ...(bench.moreRepositories ?? [])],
    store,
    digest: quickDigest,
    backends: [counted(backend, live, bench.prepare)],
    capabilities: { ...CAPABILITIES, ...bench.capabilities },
    clock,
    logger,
    version: "0.0.0-test",
    ...(bench.inherited === undefined ? {} : { inherited: bench.inherited }),
    ...(bench.storeLocks === undefined ? {} : { storeLocks: bench.storeLocks }),
    ...(bench.keptFiles === undefined ? {} : { keptFiles: bench.keptFiles }),
    ...(bench.placeMetrics === undefined ? {} : { placeMetrics: bench.placeMetrics }),
    ...(bench.machineMetrics === undefined ? {} : { machineMetrics: bench.machineMetrics }),
  });
  server.subscribe((event) => {
    if (event.kind !== "log") events.push(event);
  });
  return {
    server,
    clock,
    repository,
    store,
    backend,
    logger,
    events,
    tracing,
    traces,
    get liveInstances() {
      return live.size;
    },
    start: () => server.start(FOR_EVER),
    load: async (modelName, config) => {
      const request = config === undefined ? { modelName } : { modelName, config };
      await server.repositoryModelLoad(request, { signal: FOR_EVER });
    },
    unload: async (modelName) => {
      await server.repositoryModelUnload({ modelName, unloadDependents: false }, { signal: FOR_EVER });
    },
    index: async () => {
      const entries = await server.repositoryIndex({ ready: false }, { signal: FOR_EVER });
      return entries.map(({ name, version, state, reason }) =>
        [version === undefined ? name : `${name}:${version}`, state, reason].filter(Boolean).join(" "),
      );
    },
    infer: (modelName, value, { signal = FOR_EVER, ...options } = {}) =>
      server.modelInfer(echoRequest(modelName, value, options), { signal }),
    stream: (modelName, value, { signal = FOR_EVER, ...options } = {}) =>
      server.modelStreamInfer(echoRequest(modelName, value, options), { signal }),
    until: async (condition) => {
      for (let round = 0; round < 100; round += 1) {
        if (condition()) return;
        await clock.settle();
      }
      throw new Error("the condition never came true");
    },
    finish: async () => {
      let timersSet = -1;
      for (let quietRounds = 0; quietRounds < 10; quietRounds += 1) {
        await clock.drain();
        if (clock.timersSet !== timersSet) quietRounds = 0;
        timersSet = clock.timersSet;
      }
    },
  };
}

/** `outputs` empty: all. */
export function echoRequest(
  modelName: string,
  value: number,
  { version = "", id = "", priority }: Omit<InferOptions, "signal"> = {},
): InferenceRequest {
  const bytes = new Uint8Array(Int32Array.of(value).buffer);
  return {
    modelName,
    modelVersion: version,
    id,
    parameters: {},
    inputs: [{ kind: "bytes", name: "x", datatype: "INT32", shape: [1, 1], bytes }],
    outputs: [],
    ...(priority === undefined ? {} : { priority }),
  };
}

/** The number in the answer to an `echoRequest`. */
export function echoedValue({ outputs }: InferenceResponse): number | undefined {
  const [output] = outputs;
  return output?.kind === "bytes" ? new Int32Array(output.bytes.slice().buffer)[0] : undefined;
}

function counted(
  backend: FakeBackend,
  live: Set<ModelInstance>,
  prepare: Backend["prepare"] | undefined,
): Backend {
  return {
    name: backend.name,
    ...(backend.keepsState !== undefined && { keepsState: backend.keepsState }),
    prepare: prepare ?? ((model, options) => backend.prepare(model, options)),
    createInstance: async (spec, signal) => {
      const instance = await backend.createInstance(spec, signal);
      live.add(instance);
      return {
        device: instance.device,
        lost: instance.lost,
        ...(instance.deviceMemory !== undefined && { deviceMemory: instance.deviceMemory }),
        execute: (requests, context) => instance.execute(requests, context),
        dispose: async () => {
          await instance.dispose();
          live.delete(instance);
        },
      };
    },
  };
}
