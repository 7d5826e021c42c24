import type { OnnxEngine } from "@naiad/backend-onnxruntime";
import type { FileStore, InstanceRequest, ModelFile } from "@naiad/core";
import { CHUNK_SIZE, createMemoryFileStore } from "@naiad/core";
import type { Channel, FaultHook } from "@naiad/link";
import { createChannel } from "@naiad/link";
import { encodeConfig, parseConfigText } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";
import type { MemoryLocks } from "@naiad/testing";
import { memoryLocks, realEndpoints } from "@naiad/testing";
import { afterEach, describe, expect, it } from "vitest";
import { fixtureModels } from "@naiad/testing/fixture-models";
import type { InstanceContract, InstanceCreate, InstanceHostContract, WorkerMemory } from "../contracts.ts";
import { aliveLock, WIRE_VERSION } from "../contracts.ts";
import { runInstanceWorker } from "./instance-worker.ts";

const ENGINE: OnnxEngine = { build: "wasm", load: () => import("onnxruntime-web") };
const START = { wireVersion: WIRE_VERSION, workerId: "worker-1", ortUrl: "", threads: 1 };
const OVER = new InferenceError("CANCELLED", "the test is over");

/** These models ask nobody. */
const refuse = (): Promise<never> => Promise.reject(new Error("no server in this test"));
const NO_SERVER = {
  calls: {
    infer: refuse,
    loadModel: refuse,
    unloadModel: refuse,
    modelReady: refuse,
    declareMetric: refuse,
    metricValue: refuse,
  },
  streams: {
    inferStream: () => {
      throw new Error("no server in this test");
    },
  },
};

const channels: Channel<InstanceContract>[] = [];
afterEach(() => {
  for (const channel of channels.splice(0)) channel.close(OVER);
});

interface Worker {
  readonly channel: Channel<InstanceContract>;
  readonly operations: string[];
  /** What it has told of its memory. */
  readonly memory: WorkerMemory[];
  readonly locks: MemoryLocks;
}

interface WorkerSetup {
  readonly engine?: OnnxEngine;
  readonly store?: FileStore;
  readonly gpu?: GPU;
  readonly wasmBytes?: () => number;
  readonly fault?: FaultHook;
}

function spawn({ engine = ENGINE, store, gpu, wasmBytes, fault }: WorkerSetup = {}): Worker {
  const { left, right } = realEndpoints();
  const locks = memoryLocks();
  const platform = {
    locks,
    gpu,
    hasWebNn: false,
    openStore: () => store,
    ...(wasmBytes !== undefined && { wasmBytes }),
  };
  runInstanceWorker(right, engine, { platform, ...(fault === undefined ? {} : { fault }) });
  const operations: string[] = [];
  const memory: WorkerMemory[] = [];
  const channel = createChannel<InstanceContract, InstanceHostContract>(
    left,
    {
      ...NO_SERVER,
      notes: {
        operation: ({ instanceId, operation }) => operations.push(`${operation} ${instanceId}`),
        memory: (told) => memory.push(told),
        log: () => undefined,
        metric: () => undefined,
        traceActivity: () => undefined,
        response: () => undefined,
        end: () => undefined,
      },
    },
    { peer: "instance worker" },
  );
  channels.push(channel);
  return { channel, operations, memory, locks };
}

async function started(setup: WorkerSetup = {}): Promise<Worker> {
  const worker = spawn(setup);
  await worker.channel.call("start", START);
  return worker;
}

interface Fixture {
  readonly config: Uint8Array;
  readonly contents: Readonly<Record<string, Uint8Array>>;
  readonly files: readonly ModelFile[];
}

function fixture(name: string): Fixture {
  const { files = {} } = fixtureModels().find((model) => model.name === name) ?? {};
  const contents: Record<string, Uint8Array> = {};
  const entries: ModelFile[] = [];
  for (const [path, content] of Object.entries(files)) {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    if (bytes.byteLength > CHUNK_SIZE) throw new Error("fixtures have one chunk");
    // A store believes in its keys.
    const sha256 = `hash of ${path}`;
    contents[path] = bytes;
    entries.push({ path, size: bytes.byteLength, sha256, chunks: [sha256] });
  }
  const text = files["config.pbtxt"];
  if (typeof text !== "string") throw new Error(`no fixture ${name}`);
  return {
    config: encodeConfig(parseConfigText(text, { fileName: "config.pbtxt" })),
    contents,
    files: entries,
  };
}

type Order = Omit<InstanceCreate, "location" | "bytes">;

function orderOf(name: string, { config, files }: Fixture, instanceId = name): Order {
  return {
    instanceId,
    modelName: name,
    version: 1,
    instanceName: `${name}_0`,
    backend: "onnxruntime",
    device: { kind: "cpu", threads: 1 },
    config,
    files,
  };
}

function creation(name: string, model: Fixture, instanceId = name): InstanceCreate {
  return { ...orderOf(name, model, instanceId), location: { kind: "memory" }, bytes: model.contents };
}

async function create({ channel }: Worker, name: string, instanceId = name): Promise<void> {
  await channel.call("create", creation(name, fixture(name), instanceId));
}

function affine(values: readonly number[]): InstanceRequest {
  const bytes = new Uint8Array(new Float32Array(values).buffer);
  const input = { kind: "bytes", name: "INPUT", datatype: "FP32", shape: [1, 4], bytes } as const;
  return { id: "", inputs: [input], outputs: ["OUTPUT"], batchSize: 1, parameters: {} };
}

function loop(iterations: bigint): InstanceRequest {
  const bytes = new Uint8Array(BigInt64Array.of(iterations).buffer);
  const input = { kind: "bytes", name: "ITERATIONS", datatype: "INT64", shape: [1, 1], bytes } as const;
  return { id: "", inputs: [input], outputs: ["ECHO"], batchSize: 1, parameters: {} };
}

async function run(
  { channel }: Worker,
  instanceId: string,
  ...requests: InstanceRequest[]
): Promise<number[][]> {
  const { outcomes } = await channel.call("execute", { instanceId, requests });
  return outcomes.map((outcome) => {
    if (outcome.kind === "error") throw new InferenceError(outcome.error.code, outcome.error.message);
    const [output] = outcome.kind === "decoupled" ? [] : outcome.outputs;
    if (output?.kind !== "bytes") throw new Error("no output");
    return [...new Float32Array(output.bytes.slice().buffer)];
  });
}

describe("an instance worker", () => {
  it("holds its lock from the start", async () => {
    const worker = await started();
    expect(worker.locks.heldNames()).toEqual([aliveLock("worker-1")]);
  });

  it("refuses a host of another release", async () => {
    const { channel } = spawn();
    await expect(channel.call("start", { ...START, wireVersion: 99 })).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: `the instance worker speaks wire version ${WIRE_VERSION} and the host 99: their files come from different versions of Naiad`,
    });
  });

  it("says why its engine does not start", async () => {
    const engine: OnnxEngine = { build: "wasm", load: () => Promise.reject(new Error("404")) };
    await expect(spawn({ engine }).channel.call("start", START)).rejects.toMatchObject({
      message: "ONNX Runtime Web (wasm) could not start: 404",
    });
  });

  it("tells what it takes when that has changed, before it answers", async () => {
    let wasmBytes = 100;
    const worker = await started({ wasmBytes: () => wasmBytes });
    expect(worker.memory).toEqual([{ wasmBytes: 100, gpuBufferBytes: 0 }]);
    await create(worker, "batcher");
    wasmBytes = 300;
    await run(worker, "batcher", affine([1, 2, 3, 4]));
    expect(worker.memory.slice(1)).toEqual([{ wasmBytes: 300, gpuBufferBytes: 0 }]);
    await run(worker, "batcher", affine([1, 2, 3, 4]));
    await worker.channel.call("release", { instanceId: "batcher" });
    expect(worker.memory).toHaveLength(2);
  });

  it("creates, runs and releases, and tells when that begins which the host cannot know", async () => {
    const worker = await started({
      fault: (point) =>
        point === "instance.before-execute" ? new Promise((resolve) => setTimeout(resolve, 5)) : undefined,
    });
    await create(worker, "batcher");
    expect(await run(worker, "batcher", affine([1, 2, 3, 4]), affine([0, 0, 0, 0]))).toEqual([
      [3, 5, 7, 9],
      [1, 1, 1, 1],
    ]);
    await run(worker, "batcher", affine([1, 1, 1, 1]));
    // The second of these has to wait for the first.
    await Promise.all([1, 2].map((value) => run(worker, "batcher", affine([value, value, value, value]))));
    const { releasedBytes } = await worker.channel.call("release", { instanceId: "batcher" });
    expect(releasedBytes).toBe(fixture("batcher").contents["1/model.onnx"]?.byteLength);
    expect(worker.operations).toEqual([
      "create batcher",
      "first-run batcher",
      "run batcher",
      "release batcher",
    ]);
  });

  it("reads files, external data too, from a store of its own", async () => {
    const name = "external_data";
    const model = fixture(name);
    const store = createMemoryFileStore();
    for (const { path, sha256, size, chunks } of model.files) {
      await store.putChunk(sha256, model.contents[path] ?? new Uint8Array());
      await store.putFile({ sha256, size, chunks });
    }
    const { channel } = await started({ store });
    const { device } = await channel.call("create", {
      ...orderOf(name, model),
      location: { kind: "indexeddb", name: "x" },
    });
    expect(device).toMatchObject({ executionProvider: "wasm", build: "wasm", threads: 1 });
  });

  it("does one thing at a time: a release waits for the run before it", async () => {
    const worker = await started();
    await create(worker, "slow_loop");
    await create(worker, "batcher");
    const slow = worker.channel.call("execute", { instanceId: "slow_loop", requests: [loop(200n)] });
    const release = worker.channel.call("release", { instanceId: "slow_loop" });
    const next = run(worker, "batcher", affine([1, 1, 1, 1]));
    const { outcomes } = await slow;
    expect(outcomes[0]?.kind).toBe("response");
    await release;
    expect(await next).toEqual([[3, 3, 3, 3]]);
    expect(worker.operations.slice(2)).toEqual([
      "first-run slow_loop",
      "release slow_loop",
      "first-run batcher",
    ]);
  });

  it("goes on after a failure", async () => {
    const worker = await started();
    const broken = { ...creation("batcher", fixture("batcher"), "broken"), files: [] };
    await expect(worker.channel.call("create", broken)).rejects.toMatchObject({
      code: "INVALID_ARG",
      message: "unable to find '1/model.onnx' for model instance 'batcher'",
    });
    await expect(run(worker, "broken", affine([1, 1, 1, 1]))).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await create(worker, "batcher");
    expect(await run(worker, "batcher", affine([2, 2, 2, 2]))).toEqual([[5, 5, 5, 5]]);
  });

  it("does not run what was cancelled while it waited", async () => {
    let proceed: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => (proceed = resolve));
    const worker = await started({
      fault: (point) => (point === "instance.before-execute" ? waiting : undefined),
    });
    await create(worker, "batcher");
    const first = run(worker, "batcher", affine([1, 1, 1, 1]));
    const abort = new AbortController();
    const input = { instanceId: "batcher", requests: [affine([2, 2, 2, 2])] };
    const second = worker.channel.call("execute", input, { signal: abort.signal });
    abort.abort();
    await expect(second).rejects.toMatchObject({ code: "CANCELLED" });
    // Until the cancel has crossed; nothing answers it.
    await new Promise((resolve) => setTimeout(resolve, 20));
    proceed();
    await first;
    await worker.channel.call("release", { instanceId: "batcher" });
    expect(worker.operations).toEqual(["create batcher", "first-run batcher", "release batcher"]);
  });

  it("lets go of an instance that it never made", async () => {
    const { channel } = await started();
    await expect(channel.call("release", { instanceId: "nobody" })).resolves.toEqual({ releasedBytes: 0 });
  });

  it("sends a GPU instance elsewhere when there is no GPU", async () => {
    const { channel } = await started();
    const order: InstanceCreate = {
      ...creation("mlp_2x128_gpu", fixture("mlp_2x128_gpu")),
      device: { kind: "gpu", adapter: 0 },
    };
    await expect(channel.call("create", order)).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: "WebGPU is not available: the browser gives no GPU adapter",
    });
  });

  it("ends with its GPU", async () => {
    let lose: (info: Pick<GPUDeviceLostInfo, "reason" | "message">) => void = () => undefined;
    const lost = new Promise<Pick<GPUDeviceLostInfo, "reason" | "message">>((resolve) => (lose = resolve));
    const device = {
      features: new Set(),
      lost,
      addEventListener: () => undefined,
      createBuffer: () => undefined,
    };
    const adapter = {
      features: new Set(),
      limits: {},
      info: {},
      requestDevice: () => Promise.resolve(device),
    };
    const gpu = { requestAdapter: () => Promise.resolve(adapter) } as unknown as GPU;
    const { channel } = await started({ gpu });
    const order = {
      ...creation("mlp_2x128_gpu", fixture("mlp_2x128_gpu")),
      device: { kind: "gpu", adapter: 0 },
    };
    // This engine has no WebGPU at all.
    await expect(channel.call("create", order as InstanceCreate)).rejects.toMatchObject({
      code: "UNSUPPORTED",
    });
    lose({ reason: "unknown", message: "the driver was reset" });
    await expect(channel.closed).resolves.toMatchObject({
      message: expect.stringContaining("the driver was reset"),
    });
  });

  it("says that it has no such tensor", async () => {
    const { channel } = await started();
    await expect(channel.call("readTensor", { handle: 1 })).rejects.toMatchObject({ code: "UNAVAILABLE" });
    channel.notify("disposeTensor", { handle: 1 });
    await expect(channel.call("readTensor", { handle: 1 })).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  it("can be broken at its fault points", async () => {
    const passed: string[] = [];
    const fault: FaultHook = (point) => {
      if (point.startsWith("instance.")) passed.push(point);
    };
    const worker = await started({ fault });
    await create(worker, "batcher");
    await run(worker, "batcher", affine([1, 1, 1, 1]));
    expect(passed).toEqual(["instance.before-execute", "instance.before-reply"]);
  });
});
