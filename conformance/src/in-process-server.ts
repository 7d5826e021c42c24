import type { OnnxEngine } from "@naiad/backend-onnxruntime";
import type { Backend, Capabilities, RepositorySource } from "@naiad/core";
import { createMemoryFileStore } from "@naiad/core";
import type { Endpoint } from "@naiad/link";
import type { ExchangeHandler } from "@naiad/protocol";
import { WIRE_VERSION } from "@naiad/runtime";
import {
  composeHost,
  createBrowserClock,
  createDigest,
  runInstanceWorker,
  runJavaScriptWorker,
} from "@naiad/runtime/in-process";
import { memoryLocks, realEndpoints } from "@naiad/testing";
import type { MemoryLocks } from "@naiad/testing";
import type { StartServerOptions } from "../../packages/naiad/src/sdk/start-options.ts";
import { resolveSettings } from "../../packages/naiad/src/sdk/start-settings.ts";

/** A whole server in this process. */
export interface InProcessServer {
  /** The HTTP handler, as the gateway calls it. */
  readonly handle: ExchangeHandler;
  /** Every line of its log so far. */
  readonly log: readonly string[];
  stop(): Promise<void>;
}

export interface InProcessOptions {
  readonly source: RepositorySource;
  /** What differs from the defaults of `startServer`. */
  readonly options?: Partial<StartServerOptions>;
  readonly capabilities?: Capabilities;
  /** Beside ONNX Runtime. */
  readonly backends?: readonly Backend[];
  /** What runs at the other end of a new worker for ONNX models. Default: the instance worker of production. */
  readonly work?: (scope: Endpoint, locks: MemoryLocks) => void;
}

export const NO_GPU: Capabilities = {
  gpus: [],
  crossOriginIsolated: false,
  hardwareConcurrency: 2,
  wasmMemoryLimitBytes: 2 ** 32,
};

export const digest = createDigest(crypto.subtle);

/** In the place of a script's address. */
const JAVASCRIPT = "javascript";

const ENGINE: OnnxEngine = { build: "wasm", load: () => import("onnxruntime-web") };

/**
 * Host, lifecycle, schedulers and instance workers of production. Only the workers have no threads of their own: they
 * share this one and its engine, so that a model costs no start of an engine.
 */
export async function startInProcessServer({
  source,
  options,
  capabilities = NO_GPU,
  backends = [],
  work = instanceWorker,
}: InProcessOptions): Promise<InProcessServer> {
  const locks = memoryLocks();
  const log: string[] = [];
  let ids = 0;
  const settings = resolveSettings({ modelRepository: "models/", ...options }, "memory://here/");
  // As tritonserver without a trace file.
  const traceConfig = { ...settings.server.traceConfig, destination: "file" } as const;
  const parts = await composeHost(
    {
      wireVersion: WIRE_VERSION,
      hostId: "conformance",
      options: { ...settings.server, traceConfig },
      assets: {
        host: "",
        instanceWasm: "",
        instanceJspi: "",
        instanceAsyncify: "",
        instanceJavascript: JAVASCRIPT,
        ort: "",
      },
      storageName: "",
    },
    {
      clock: createBrowserClock(),
      locks,
      backends,
      spawner: {
        spawn(url) {
          const { left, right } = realEndpoints();
          if (url === JAVASCRIPT) javaScriptWorker(right, locks);
          else work(right, locks);
          const terminate = (): void => {
            left.kill();
            right.kill();
          };
          return { endpoint: left, failed: new Promise(() => undefined), terminate };
        },
      },
      subtle: crypto.subtle,
      hasJspi: false,
      compileModule: () => Promise.reject(new Error("the engine loads its own files here")),
      newId: () => `id-${(ids += 1)}`,
      writeLog: ({ message }) => {
        log.push(message);
      },
      probe: () => Promise.resolve(capabilities),
      openStore: () => Promise.resolve(createMemoryFileStore()),
      openSource: () => source,
    },
  );
  await parts.start(new AbortController().signal);
  return { handle: parts.services.handleExchange, log, stop: () => parts.stop() };
}

function instanceWorker(scope: Endpoint, locks: MemoryLocks): void {
  const platform = { locks, gpu: undefined, hasWebNn: false, openStore: () => undefined };
  runInstanceWorker(scope, ENGINE, { platform });
}

function javaScriptWorker(scope: Endpoint, locks: MemoryLocks): void {
  const platform = { locks, gpu: undefined, hasWebNn: false, openStore: () => undefined };
  runJavaScriptWorker(scope, {
    platform,
    code: {
      importModule: (url) => import(url) as Promise<Readonly<Record<string, unknown>>>,
      makeModuleUrl: (source, type) => `data:${type};base64,${Buffer.from(source).toString("base64")}`,
    },
  });
}
