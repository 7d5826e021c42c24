import type { InstanceRequest } from "@naiad/core";
import { createCustomMetrics } from "@naiad/core";
import { createChannel } from "@naiad/link";
import type { DeviceTensor } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { FakeClock } from "@naiad/testing";
import { createCollectingLogger, createFakeClock, pairedEndpoints } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import type { InstanceContract, InstanceHostContract, InstanceWorkerStart } from "../contracts.ts";
import { deferred } from "./deferred.ts";
import { createInstanceWorkers } from "./instance-workers.ts";
import type { InstanceWorkersOptions, Placed } from "./instance-workers.ts";
import type { InstanceOrder, RemoteInstance } from "./remote-instance.ts";
import type { WorkerServices } from "./worker-services.ts";
import type { WorkerSpawner } from "./worker-spawner.ts";

/** What a scripted worker does when it is asked something; `undefined`: what a good worker does. */
type Act =
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
  /** As a GPU worker whose device is lost. */
  sayGoodbye(reason: string): void;
}

/** For a property of a larger expectation. */
const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern);

const NEVER = new Promise<never>(() => undefined);
const LIMITS = { createMs: 1000, firstRunMs: 500, runMs: 100 };
/** What a scripted worker leaves on its device where it may. */
const TENSOR: DeviceTensor = {
  kind: "device",
  name: "y",
  datatype: "UINT8",
  shape: [1],
  worker: "w1",
  handle: 7,
};
const TIMES = { computeInputNs: 1, computeInferNs: 2, computeOutputNs: 3 };

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

const CPU: Placed = { engine: "onnxruntime", workerKey: "cpu:m_0", device: { kind: "cpu", threads: 4 } };
const GPU: Placed = { engine: "onnxruntime", workerKey: "gpu:0", device: { kind: "gpu", adapter: 0 } };
const MODULE = new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
const REQUEST: InstanceRequest = { id: "r", inputs: [], outputs: ["y"], batchSize: 1, parameters: {} };
const live = new AbortController().signal;

const refuse = (): Promise<never> => Promise.reject(new Error("nothing asks in this test"));
const SERVICES: WorkerServices = {
  operations: {
    modelInfer: refuse,
    modelStreamInfer: refuse,
    repositoryModelLoad: refuse,
    repositoryModelUnload: refuse,
    modelReady: refuse,
  },
  metrics: createCustomMetrics(),
};

function order(instanceId: string, limits = LIMITS): InstanceOrder {
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

function setUp(script: Script = () => undefined, options: Partial<InstanceWorkersOptions> = {}) {
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
    services: SERVICES,
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
async function now<Value>(clock: FakeClock, promise: Promise<Value>): Promise<Value | "pending"> {
  await clock.settle();
  return Promise.race([promise, Promise.resolve("pending" as const)]);
}

describe("createInstanceWorkers: starting", () => {
  it("starts a CPU worker with the shared module and the threads of its placement", async () => {
    const { create, spawned } = setUp();
    const instance = await create(CPU, "a");
    expect(instance.device.build).toBe("wasm.js");
    expect(spawned[0]?.start).toMatchObject({ workerId: "w1", ortUrl: "ort/", threads: 4 });
    expect(spawned[0]?.start?.wasmModule).toBeInstanceOf(WebAssembly.Module);
  });

  it.each([
    [true, "jspi.js"],
    [false, "asyncify.js"],
  ])("starts the GPU build for a platform with JSPI: %o", async (hasJspi, build) => {
    const { create, spawned } = setUp(() => undefined, { hasJspi });
    const instance = await create(GPU, "a");
    expect(instance.device.build).toBe(build);
    expect(spawned[0]?.start).not.toHaveProperty("wasmModule");
  });

  it("puts instances with equal keys into one worker, also when they come together", async () => {
    const { pool, spawned } = setUp();
    await Promise.all([
      pool.create(GPU, order("a"), live),
      pool.create(GPU, order("b"), live),
      pool.create(CPU, order("c"), live),
    ]);
    expect(spawned.map(({ calls }) => calls)).toEqual([
      ["start ", "create a", "create b"],
      ["start ", "create c"],
    ]);
  });

  const broken = new InferenceError("INTERNAL", "no WASM here");
  it("replaces a worker that failed to start by one that starts the plain way", async () => {
    const { create, spawned, logger } = setUp(({ number }, call) =>
      call === "start" && number === 0 ? { kind: "fail", error: broken } : undefined,
    );
    await create(CPU, "a");
    expect(spawned.map(({ terminated }) => terminated)).toEqual([true, false]);
    expect(spawned[1]?.start).toMatchObject({ threads: 1 });
    expect(spawned[1]?.start).not.toHaveProperty("wasmModule");
    expect(logger.lines[0]?.message).toMatch(/could not start: no WASM here; another worker is started/);
  });

  it("rejects with the reason where no worker starts, and tries afresh the next time", async () => {
    let works = false;
    const { create, spawned } = setUp((_worker, call) =>
      call === "start" && !works ? { kind: "fail", error: broken } : undefined,
    );
    await expect(create(CPU, "a")).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: matching(/no WASM here/),
    });
    expect(spawned.map(({ terminated }) => terminated)).toEqual([true, true]);
    works = true;
    await create(CPU, "a");
    expect(spawned).toHaveLength(3);
  });

  it("ends a worker that hangs while it starts", async () => {
    const { pool, clock, spawned } = setUp(() => ({ kind: "hang" }));
    const created = pool.create(CPU, order("a"), live);
    created.catch(() => undefined);
    await clock.advance(2000e6);
    await expect(created).rejects.toThrow(/it did not start within 1000 ms/);
    expect(spawned.map(({ terminated }) => terminated)).toEqual([true, true]);
  });

  it("hears of a script that does not load", async () => {
    const { pool, clock, spawned } = setUp(() => ({ kind: "hang" }));
    const created = pool.create(CPU, order("a"), live);
    created.catch(() => undefined);
    for (const number of [0, 1]) {
      await clock.settle();
      spawned[number]?.crash("its script could not be loaded");
    }
    await expect(created).rejects.toThrow("its script could not be loaded");
  });
});

describe("createInstanceWorkers: creating", () => {
  const refuse = (error: InferenceError) => (): Act => ({ kind: "fail", error });
  it("rejects with the worker's own error and ends a CPU worker that holds nothing", async () => {
    const error = new InferenceError("INVALID_ARG", "bad model");
    const { create, spawned } = setUp((_worker, call) => (call === "create" ? refuse(error)() : undefined));
    await expect(create(CPU, "a")).rejects.toMatchObject({ code: "INVALID_ARG", message: "bad model" });
    expect(spawned.map(({ terminated }) => terminated)).toEqual([true]);
  });

  it.each([
    ["UNSUPPORTED", false],
    ["INTERNAL", true],
  ] as const)("ends a new GPU worker after %s: %o", async (code, ended) => {
    const error = new InferenceError(code, "no");
    const { create, spawned } = setUp((_worker, call) => (call === "create" ? refuse(error)() : undefined));
    await expect(create(GPU, "a")).rejects.toMatchObject({ code });
    expect(spawned.map(({ terminated }) => terminated)).toEqual([ended]);
  });

  it("rejects a create that hangs and loses nobody else's place in line", async () => {
    const { pool, clock, spawned } = setUp((_worker, call, id) =>
      call === "create" && id === "bad" ? { kind: "hang" } : undefined,
    );
    const bad = pool.create(GPU, order("bad"), live);
    bad.catch(() => undefined);
    const good = pool.create(GPU, order("good"), live);
    await clock.advance(1001e6);
    await expect(bad).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: matching(/gpu:0 was ended: loading a model did not end within 1000 ms/),
    });
    await expect(good).resolves.toMatchObject({ device: { build: "jspi.js" } });
    expect(spawned.map(({ calls }) => calls)).toEqual([
      ["start ", "create bad"],
      ["start ", "create good"],
    ]);
  });

  it("gives up an aborted create: alone in its worker, by the worker's end", async () => {
    const { pool, clock, spawned } = setUp((_worker, call) =>
      call === "create" ? { kind: "hang" } : undefined,
    );
    const abort = new AbortController();
    const created = pool.create(CPU, order("a"), abort.signal);
    created.catch(() => undefined);
    await clock.settle();
    abort.abort();
    await expect(created).rejects.toMatchObject({ code: "CANCELLED" });
    expect(spawned[0]?.terminated).toBe(true);
  });

  it("gives up an aborted create: among others, by a release behind it", async () => {
    const { pool, clock, spawned, create } = setUp((_worker, call, id) =>
      call === "create" && id === "b" ? { kind: "after", ms: 50 } : undefined,
    );
    await create(GPU, "a");
    const abort = new AbortController();
    const created = pool.create(GPU, order("b"), abort.signal);
    created.catch(() => undefined);
    await clock.settle();
    abort.abort();
    await expect(created).rejects.toMatchObject({ code: "CANCELLED" });
    await clock.advance(5000e6);
    expect(spawned[0]?.calls).toEqual(["start ", "create a", "create b", "release b"]);
    expect(spawned[0]?.terminated).toBe(false);
  });

  it("does not begin what was aborted while its worker started", async () => {
    const { pool, clock, spawned } = setUp((_worker, call) =>
      call === "start" ? { kind: "after", ms: 50 } : undefined,
    );
    const abort = new AbortController();
    const created = pool.create(CPU, order("a"), abort.signal);
    created.catch(() => undefined);
    await clock.settle();
    abort.abort();
    await expect(created).rejects.toMatchObject({ code: "CANCELLED" });
    await clock.advance(100e6);
    expect(spawned[0]?.calls).toEqual(["start "]);
    expect(spawned[0]?.terminated).toBe(true);
  });
});

describe("createInstanceWorkers: executing", () => {
  it("gives the worker's answer", async () => {
    const { create } = setUp();
    const instance = await create(CPU, "a");
    expect(await instance.execute([REQUEST, REQUEST], [])).toMatchObject({
      kind: "completed",
      outcomes: [{ kind: "response" }, { kind: "response" }],
      times: TIMES,
      nonFiniteOutputs: 0,
    });
  });

  it("gives every request the error of a call that failed as a whole", async () => {
    const error = new InferenceError("INTERNAL", "out of luck");
    const { create } = setUp((_worker, call) => (call === "execute" ? { kind: "fail", error } : undefined));
    const instance = await create(CPU, "a");
    expect(await instance.execute([REQUEST, REQUEST], [])).toMatchObject({
      kind: "completed",
      outcomes: [
        { kind: "error", error: { code: "INTERNAL", message: "out of luck" } },
        { kind: "error", error: { code: "INTERNAL", message: "out of luck" } },
      ],
    });
  });

  it("passes a fault point before each execution", async () => {
    const passed: string[] = [];
    const { create } = setUp(() => undefined, {
      fault: (point, detail) => {
        if (point !== "host.before-dispatch") return;
        passed.push(detail);
        throw new InferenceError("INTERNAL", "armed");
      },
    });
    const instance = await create(CPU, "a");
    expect(await instance.execute([REQUEST], [])).toMatchObject({
      kind: "completed",
      outcomes: [{ kind: "error", error: { message: "armed" } }],
    });
    expect(passed).toEqual(["a"]);
  });

  it("ends a hung worker: its run is to blame, its neighbour's is not, and both hear at once", async () => {
    const { create, clock, spawned } = setUp((_worker, call, id) =>
      call === "execute" && id === "a" ? { kind: "hang" } : undefined,
    );
    const [a, b] = [await create(GPU, "a"), await create(GPU, "b")];
    const [hung, innocent] = [a.execute([REQUEST], []), b.execute([REQUEST], [])];
    await clock.advance(99e6);
    expect(await now(clock, innocent)).toBe("pending");
    await clock.advance(2e6);
    const reason = "instance worker gpu:0 was ended: an execution did not end within 100 ms";
    expect(await now(clock, hung)).toEqual({ kind: "lost", reason, culprit: true });
    expect(await now(clock, innocent)).toEqual({ kind: "lost", reason, culprit: false });
    expect(await now(clock, a.lost)).toBe(reason);
    expect(await now(clock, b.lost)).toBe(reason);
    expect(spawned[0]?.terminated).toBe(true);

    await create(GPU, "c");
    expect(spawned).toHaveLength(2);
    expect(await b.execute([REQUEST], [])).toMatchObject({ kind: "lost", culprit: false });
  });

  it("ends a worker whose event loop has stopped: the execution that found it idle is to blame", async () => {
    const { create, clock } = setUp((_worker, call) => (call === "execute" ? { kind: "freeze" } : undefined));
    const instance = await create(CPU, "a");
    const result = instance.execute([REQUEST], []);
    await clock.advance(101e6);
    expect(await now(clock, result)).toMatchObject({ kind: "lost", culprit: true });
  });

  it("drops what a worker answers after it was given up", async () => {
    const { create, clock } = setUp((_worker, call) =>
      call === "execute" ? { kind: "after", ms: 150 } : undefined,
    );
    const instance = await create(CPU, "a");
    const result = instance.execute([REQUEST], []);
    await clock.advance(1000e6);
    expect(await now(clock, result)).toMatchObject({ kind: "lost", culprit: true });
  });

  it("hears of a crash through the worker's error", async () => {
    const { create, clock, spawned } = setUp((_worker, call) =>
      call === "execute" ? { kind: "hang" } : undefined,
    );
    const instance = await create(CPU, "a");
    const result = instance.execute([REQUEST], []);
    await clock.settle();
    spawned[0]?.crash("RuntimeError: unreachable");
    expect(await now(clock, result)).toEqual({
      kind: "lost",
      reason: "instance worker cpu:m_0 was ended: RuntimeError: unreachable",
      culprit: true,
    });
  });

  it("hears of a worker that says goodbye, and counts its runs as lost", async () => {
    const { create, clock, spawned } = setUp((_worker, call) =>
      call === "execute" ? { kind: "hang" } : undefined,
    );
    const instance = await create(GPU, "a");
    const result = instance.execute([REQUEST], []);
    await clock.settle();
    spawned[0]?.sayGoodbye("the GPU was lost");
    expect(await now(clock, result)).toMatchObject({
      kind: "lost",
      reason: matching(/the GPU was lost/),
    });
    expect(await now(clock, instance.lost)).toMatch(/the GPU was lost/);
  });

  it("hears of a worker that the platform ended through its lock", async () => {
    const { create, clock, deaths, spawned } = setUp();
    const instance = await create(CPU, "a");
    deaths.get("w1")?.();
    expect(await now(clock, instance.lost)).toMatch(/the platform ended it/);
    expect(spawned[0]?.terminated).toBe(true);
  });
});

describe("createInstanceWorkers: the end", () => {
  it("ends a CPU worker with its last instance, after the running execution", async () => {
    const { create, clock, spawned } = setUp((_worker, call) =>
      call === "execute" ? { kind: "after", ms: 50 } : undefined,
    );
    const instance = await create(CPU, "a");
    const result = instance.execute([REQUEST], []);
    const disposed = instance.dispose();
    await clock.advance(40e6);
    expect(spawned[0]?.terminated).toBe(false);
    await clock.advance(20e6);
    await disposed;
    expect(await result).toMatchObject({ kind: "completed" });
    expect(spawned[0]?.terminated).toBe(true);
    expect(await now(clock, instance.lost)).toBe("pending");
    expect(await instance.execute([REQUEST], [])).toMatchObject({ kind: "lost", culprit: false });
  });

  it("disposes once", async () => {
    const { create, spawned } = setUp();
    const instance = await create(GPU, "a");
    await Promise.all([instance.dispose(), instance.dispose()]);
    expect(spawned[0]?.calls.filter((call) => call.startsWith("release"))).toHaveLength(1);
  });

  it("keeps an empty GPU worker for a while", async () => {
    const { create, clock, spawned } = setUp();
    await (await create(GPU, "a")).dispose();
    await clock.advance(9000e6);
    const again = await create(GPU, "b");
    expect(spawned).toHaveLength(1);
    await clock.advance(60_000e6);
    expect(spawned[0]?.terminated).toBe(false);
    await again.dispose();
    await clock.advance(10_000e6);
    expect(spawned[0]?.terminated).toBe(true);
  });

  it("renews an idle GPU worker that holds too much: those who stay are lost, innocent, and come again", async () => {
    const { create, clock, spawned } = setUp();
    const stays = await create(GPU, "stays");
    await (await create(GPU, "a")).dispose();
    expect(spawned[0]?.terminated).toBe(false);
    await (await create(GPU, "b")).dispose();
    expect(spawned[0]?.terminated).toBe(true);
    expect(await now(clock, stays.lost)).toMatch(/renewed to give memory back/);
    await create(GPU, "stays again");
    expect(spawned).toHaveLength(2);
  });

  it("is not renewed while tensors in its memory are to be read", async () => {
    const { create, clock, spawned } = setUp();
    const stays = await create(GPU, "stays");
    await now(clock, stays.execute([{ ...REQUEST, keepOnDevice: ["y"] }], []));
    await (await create(GPU, "a")).dispose();
    await (await create(GPU, "b")).dispose();
    expect(spawned[0]?.terminated).toBe(false);
    stays.deviceMemory.dispose(TENSOR);
    await clock.settle();
    expect(spawned[0]?.terminated).toBe(true);
  });

  it("lets the rest live when a release fails", async () => {
    const error = new InferenceError("INTERNAL", "cannot");
    const { create, spawned, logger } = setUp((_worker, call) =>
      call === "release" ? { kind: "fail", error } : undefined,
    );
    await create(GPU, "a");
    await (await create(GPU, "b")).dispose();
    expect(spawned[0]?.terminated).toBe(false);
    expect(logger.lines).toEqual([
      { level: "warning", message: "instance worker gpu:0 could not unload: cannot" },
    ]);
  });

  it("stops everything", async () => {
    const { pool, create, clock, spawned } = setUp((_worker, call) =>
      call === "execute" ? { kind: "hang" } : undefined,
    );
    const instance = await create(GPU, "a");
    await create(CPU, "b");
    const result = instance.execute([REQUEST], []);
    pool.stop();
    expect(await now(clock, result)).toMatchObject({
      kind: "lost",
      reason: matching(/the server is stopping/),
      culprit: false,
    });
    expect(spawned.map(({ terminated }) => terminated)).toEqual([true, true]);
    await expect(pool.create(CPU, order("c"), live)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(clock.timerCount).toBe(0);
  });
});

describe("createInstanceWorkers: tensors in a worker's memory", () => {
  it("are read by the worker that has them, and disposed behind what was asked before", async () => {
    const { pool, create, clock, spawned } = setUp((_worker, call) =>
      call === "execute" ? { kind: "after", ms: 5 } : undefined,
    );
    const other = await create({ ...GPU, workerKey: "gpu:1" }, "a");
    const instance = await create(GPU, "b");
    const tensor = { ...TENSOR, worker: "w2" };
    expect([other, instance].map(({ deviceMemory }) => deviceMemory.worker)).toEqual(["w1", "w2"]);
    const execution = instance.execute([REQUEST], []);
    const bytes = pool.read(tensor);
    await clock.advance(5e6);
    expect(await bytes).toEqual(Uint8Array.of(7));
    await execution;
    instance.deviceMemory.dispose(tensor);
    await clock.settle();
    expect(spawned[1]?.calls).toEqual(["start ", "create b", "execute b", "read 7", "dispose 7"]);
    expect(spawned[0]?.calls).toEqual(["start ", "create a"]);
  });

  it("are lost with it", async () => {
    const { pool, create, clock, spawned } = setUp();
    const instance = await create(GPU, "a");
    expect(instance.deviceMemory.isLost).toBe(false);
    spawned[0]?.crash("out of memory");
    await clock.settle();
    expect(instance.deviceMemory.isLost).toBe(true);
    instance.deviceMemory.dispose(TENSOR);
    await expect(pool.read(TENSOR)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(spawned[0]?.calls).toEqual(["start ", "create a"]);
  });

  it("end a worker that hangs when it is to read one", async () => {
    const { pool, create, clock, spawned } = setUp((_worker, call) =>
      call === "read" ? { kind: "hang" } : undefined,
    );
    await create(GPU, "a");
    const bytes = pool.read(TENSOR).catch((thrown: unknown) => InferenceError.from(thrown).message);
    await clock.advance(1000e6);
    expect(await bytes).toMatch(/did not begin what it was asked for within 1000 ms/);
    expect(spawned[0]?.terminated).toBe(true);
  });
});

describe("createInstanceWorkers: asking whether a model is ready", () => {
  const JAVASCRIPT: Placed = {
    engine: "javascript",
    workerKey: "javascript:m_0:0123456789abcdef",
    label: "javascript:m_0",
    device: { kind: "cpu", threads: 1 },
  };
  const textOf = (promise: Promise<void>): Promise<string> =>
    promise.then(
      () => "ready",
      (thrown: unknown) => InferenceError.from(thrown).message,
    );

  it("ends a worker whose model never comes back from it; a request that came meanwhile is innocent", async () => {
    const { create, clock, spawned } = setUp((_worker, call) =>
      call === "ready" || call === "execute" ? { kind: "freeze" } : undefined,
    );
    const instance = await create(JAVASCRIPT, "a", { ...LIMITS, runMs: 60_000 });
    const ready = textOf(instance.checkReady());
    await clock.advance(2000e6);
    const request = instance.execute([REQUEST], []);
    await clock.advance(3000e6);
    expect(await ready).toBe(
      "instance worker javascript:m_0 was ended: isReady() did not end within 5000 ms",
    );
    expect(await request).toMatchObject({ kind: "lost", culprit: false });
    expect(spawned[0]?.terminated).toBe(true);
    expect(clock.timerCount).toBe(0);
  });

  it("keeps a worker whose model only does not answer, or that is busy with something else", async () => {
    const { create, clock, spawned } = setUp((_worker, call, instanceId) => {
      if (call === "ready") return instanceId === "a" ? { kind: "hang" } : undefined;
      return call === "execute" ? { kind: "after", ms: 9000 } : undefined;
    });
    const instance = await create(JAVASCRIPT, "a", { ...LIMITS, runMs: 60_000 });
    const waiting = textOf(instance.checkReady());
    await clock.advance(5000e6);
    expect(await waiting).toMatch(/javascript:m_0 did not say within 5000 ms whether its model is ready/);
    const request = instance.execute([REQUEST], []);
    const busy = textOf(instance.checkReady());
    await clock.advance(9000e6);
    expect(await busy).toMatch(/did not say within 5000 ms/);
    expect(await request).toMatchObject({ kind: "completed" });
    expect(spawned[0]?.terminated).toBe(false);
  });
});
