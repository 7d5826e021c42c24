import type { InstanceRequest } from "@naiad/core";
import { createChannel } from "@naiad/link";
import type { DeviceTensor } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { FakeClock } from "@naiad/testing";
import { createCollectingLogger, createFakeClock, pairedEndpoints } from "@naiad/testing";
import type {
  InstanceContract,
  InstanceHostContract,
  InstanceWorkerStart,
  WorkerMemory,
} from "../src/contracts.ts";
import { deferred } from "../src/host/deferred.ts";
import { createInstanceWorkers } from "../src/host/instance-workers.ts";
import type { InstanceWorkersOptions, Placed } from "../src/host/instance-workers.ts";
import type { InstanceOrder, RemoteInstance } from "../src/host/remote-instance.ts";
import type { WorkerSpawner } from "../src/host/worker-spawner.ts";
import { NO_SERVICES } from "./no-services.ts";

/** What a scripted worker does when it is asked something; `undefined`: what a good worker does. */
export type Act =
  | { readonly kind: "hang" }
  /** The event loop stops: not even the beginning is reported. */
  | { readonly kind: "freeze" }
  | { readonly kind: "fail"; readonly error: InferenceError }
  | { readonly kind: "after"; readonly ms: number };
type Script = (
  worker: ScriptedWorker,
  call: "start" | "create" | "execute" | "read" | "release" | "ready",
  instanceId: string,
) => Act | undefined;

interface ScriptedWorker {
  readonly url: string;
  readonly number: number;
  start: InstanceWorkerStart | undefined;
  readonly calls: string[];
  terminated: boolean;
  readonly crash: (reason: string) => void;
  tellMemory(memory: WorkerMemory): void;
  /** As a GPU worker whose device is lost. */
  sayGoodbye(reason: string): void;
}

const NEVER = new Promise<never>(() => undefined);
export const LIMITS = { createMs: 1000, firstRunMs: 500, runMs: 100 };
/** What a scripted worker leaves on its device where it may. */
export const TENSOR: DeviceTensor = {
  kind: "device",
  name: "y",
  datatype: "UINT8",
  shape: [1],
  worker: "w1",
  handle: 7,
};
export const TIMES = { computeInputNs: 1, computeInferNs: 2, computeOutputNs: 3 };

function scriptedSpawner(clock: FakeClock, script: Script) {
  const spawned: ScriptedWorker[] = [];
  const spawner: WorkerSpawner = {
    spawn(url) {
      const { left, right } = pairedEndpoints();
      const failed = deferred<string>();
      // As in a real worker, one thing at a time.
      let line: Promise<unknown> = Promise.resolve();

      async function perform<Value>(
        call: Exclude<Parameters<Script>[1], "ready">,
        instanceId: string,
        value: Value,
      ) {
        const previous = line;
        const turn = deferred<undefined>();
        line = turn.promise;
        await previous;
        worker.calls.push(`${call} ${instanceId}`);
        const act = script(worker, call, instanceId);
        if (act?.kind === "freeze") return NEVER;
        if (call !== "start" && call !== "read") {
          const operation = call === "execute" ? "run" : call;
          host.notify("operation", { instanceId, operation });
        }
        if (act?.kind === "hang") return NEVER;
        if (act?.kind === "after")
          await new Promise<void>((resolve) => void clock.after(act.ms * 1e6, resolve));
        turn.resolve(undefined);
        if (act?.kind === "fail") throw act.error;
        return { value };
      }

      const host = createChannel<InstanceHostContract, InstanceContract>(
        right,
        {
          calls: {
            start: (start) => {
              worker.start = start;
              return perform("start", "", { build: "scripted" });
            },
            create: ({ instanceId }) =>
              perform("create", instanceId, {
                device: { executionProvider: "other", build: url, threads: 1 },
              }),
            execute: ({ instanceId, requests }) =>
              perform("execute", instanceId, {
                outcomes: requests.map(({ keepOnDevice = [] }) => ({
                  kind: "response",
                  outputs: keepOnDevice.map((name) => ({ ...TENSOR, name })),
                  parameters: {},
                })),
                times: TIMES,
                nonFiniteOutputs: 0,
              }),
            readTensor: ({ handle }) => perform("read", String(handle), { bytes: Uint8Array.of(handle) }),
            checkReady: ({ instanceId }) =>
              script(worker, "ready", instanceId) === undefined ? Promise.resolve({ value: {} }) : NEVER,
            release: ({ instanceId }) => perform("release", instanceId, { releasedBytes: 60 }),
          },
          streams: {},
          notes: {
            credit: () => undefined,
            cancel: () => undefined,
            disposeTensor: ({ handle }) => worker.calls.push(`dispose ${handle}`),
          },
        },
        { peer: "host" },
      );
      const worker: ScriptedWorker = {
        url,
        number: spawned.length,
        start: undefined,
        calls: [],
        terminated: false,
        crash: failed.resolve,
        tellMemory: (memory) => {
          host.notify("memory", memory);
        },
        sayGoodbye: (reason) => {
          host.close(new InferenceError("UNAVAILABLE", reason));
        },
      };
      spawned.push(worker);
      return {
        endpoint: left,
        failed: failed.promise,
        terminate: () => {
          worker.terminated = true;
          right.kill();
        },
      };
    },
  };
  return { spawner, spawned };
}

export const CPU: Placed = {
  engine: "onnxruntime",
  workerKey: "cpu:m_0",
  device: { kind: "cpu", threads: 4 },
};
export const GPU: Placed = { engine: "onnxruntime", workerKey: "gpu:0", device: { kind: "gpu", adapter: 0 } };
const MODULE = new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
export const REQUEST: InstanceRequest = { id: "r", inputs: [], outputs: ["y"], batchSize: 1, parameters: {} };
export const live = new AbortController().signal;

export function order(instanceId: string, limits = LIMITS): InstanceOrder {
  return {
    instanceId,
    limits,
    message: () =>
      Promise.resolve({
        input: {
          instanceId,
          modelName: "m",
          version: 1,
          instanceName: instanceId,
          backend: "onnxruntime",
          device: { kind: "cpu", threads: 1 },
          config: new Uint8Array(),
          files: [],
          location: { kind: "memory" },
        },
        transfer: [],
      }),
  };
}

export function setUp(script: Script = () => undefined, options: Partial<InstanceWorkersOptions> = {}) {
  const clock = createFakeClock();
  const logger = createCollectingLogger();
  const { spawner, spawned } = scriptedSpawner(clock, script);
  const deaths = new Map<string, () => void>();
  let ids = 0;
  const pool = createInstanceWorkers({
    spawner,
    clock,
    logger,
    assets: {
      host: "host.js",
      instanceWasm: "wasm.js",
      instanceJspi: "jspi.js",
      instanceAsyncify: "asyncify.js",
      instanceJavascript: "javascript.js",
      ort: "ort/",
    },
    hasJspi: true,
    wasmModule: () => Promise.resolve(MODULE),
    limits: LIMITS,
    services: NO_SERVICES,
    newId: () => `w${(ids += 1)}`,
    whenDead: (workerId, signal) =>
      new Promise((resolve, reject) => {
        deaths.set(workerId, resolve);
        signal.addEventListener("abort", () => {
          reject(new Error("called off"));
        });
      }),
    releasedBytesLimit: 100,
    lingerMs: 10_000,
    ...options,
  });
  /** Settles everything and gives the instance, or the error as one. */
  async function create(placed: Placed, instanceId: string, limits = LIMITS): Promise<RemoteInstance> {
    const created = pool.create(placed, order(instanceId, limits), live);
    await clock.settle();
    return created;
  }
  return { pool, clock, logger, spawned, deaths, create };
}

/** What `promise` has come to by now. */
export async function now<Value>(clock: FakeClock, promise: Promise<Value>): Promise<Value | "pending"> {
  await clock.settle();
  return Promise.race([promise, Promise.resolve("pending" as const)]);
}
