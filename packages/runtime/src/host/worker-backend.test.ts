import type { InstanceSpec, ModelFiles } from "@naiad/core";
import { decodeConfig, encodeConfig, parseConfigText } from "@naiad/model-config";
import type { DeviceTensor } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { InstanceWorkers, Placed } from "./instance-workers.ts";
import type { InstanceOrder, RemoteInstance } from "./remote-instance.ts";
import { createWorkerBackend } from "./worker-backend.ts";

const PATHS = ["config.pbtxt", "labels.txt", "1/model.onnx", "2/model.onnx", "2/weights/a.bin"];

function modelFiles(location: ModelFiles["location"]): ModelFiles {
  return {
    entries: PATHS.map((path) => ({ path, size: path.length, sha256: "", chunks: [] })),
    location,
    read: (path) => Promise.resolve(new TextEncoder().encode(path)),
  };
}

function spec(location: ModelFiles["location"], runMs = "9"): InstanceSpec {
  const text = `name: "m" backend: "onnxruntime" parameters { key: "watchdog_run_ms" value { string_value: "${runMs}" } }`;
  return {
    model: {
      modelName: "m",
      version: 2,
      config: parseConfigText(text, { fileName: "config.pbtxt" }),
      files: modelFiles(location),
    },
    placement: { instanceName: "m_0_0", device: { kind: "cpu", threads: 2 }, workerKey: "cpu:m_0_0" },
  };
}

function setUp(provider: "wasm" | "webgpu" = "wasm") {
  const asked: { readonly placed: Placed; readonly order: InstanceOrder }[] = [];
  const warnings: string[] = [];
  const executed: { readonly bytes: number[]; readonly transferred: number }[] = [];
  const remote: RemoteInstance = {
    device: { executionProvider: provider, build: "wasm", threads: 2 },
    deviceMemory: { worker: "w1", isLost: false, dispose: () => undefined },
    lost: new Promise(() => undefined),
    dispose: () => Promise.resolve(),
    checkReady: () => Promise.resolve(),
    execute: (requests, transfer) => {
      const inputs = structuredClone(requests, { transfer: [...transfer] }).flatMap(
        (request) => request.inputs,
      );
      executed.push({
        bytes: inputs.flatMap((tensor) => (tensor.kind === "bytes" ? [...tensor.bytes] : [])),
        transferred: transfer.length,
      });
      if (provider === "wasm") return Promise.resolve({ kind: "lost", reason: "scripted", culprit: true });
      const outcomes = requests.map(() => ({ kind: "response", outputs: [], parameters: {} }) as const);
      const times = { computeInputNs: 0, computeInferNs: 0, computeOutputNs: 0 };
      return Promise.resolve({ kind: "completed", outcomes, times, readbacks: 1 });
    },
  };
  const workers: Pick<InstanceWorkers, "create" | "read"> = {
    create: (placed, order) => {
      asked.push({ placed, order });
      return Promise.resolve(remote);
    },
    read: ({ worker, handle }) =>
      worker === "ended"
        ? Promise.reject(new InferenceError("UNAVAILABLE", "the worker has ended"))
        : Promise.resolve(Uint8Array.of(handle)),
  };
  const backend = createWorkerBackend({
    name: "onnxruntime",
    engine: "onnxruntime",
    prepare: (model) => Promise.resolve(model.config),
    workers,
    limits: { createMs: 1, firstRunMs: 2, runMs: 3 },
    encodeConfig,
    newId: () => "id-1",
    warn: (message) => warnings.push(message),
  });
  return { backend, asked, executed, warnings };
}

const live = new AbortController().signal;

describe("createWorkerBackend", () => {
  it("says once for a load that a limit of the model cannot be read", async () => {
    const { backend, warnings } = setUp();
    const { model } = spec({ kind: "memory" }, "soon");
    await backend.prepare(model, { autoComplete: true, signal: live });
    expect(warnings).toEqual([
      "model 'm': parameter 'watchdog_run_ms' is 'soon', not a number of milliseconds: it is ignored",
    ]);
  });

  it("tells the worker where it finds the files", async () => {
    const { backend, asked } = setUp();
    const location = { kind: "indexeddb", name: "db" } as const;
    await backend.createInstance(spec(location), live);
    expect(asked[0]?.placed).toMatchObject({ workerKey: "cpu:m_0_0", device: { kind: "cpu", threads: 2 } });
    expect(asked[0]?.order.limits).toEqual({ createMs: 1, firstRunMs: 2, runMs: 9 });
    const message = await asked[0]?.order.message();
    expect(message?.input).toMatchObject({
      instanceId: "id-1",
      modelName: "m",
      version: 2,
      instanceName: "m_0_0",
      backend: "onnxruntime",
      location,
    });
    expect(message?.input).not.toHaveProperty("bytes");
    expect(message?.transfer).toEqual([]);
    expect(message && decodeConfig(message.input.config).name).toBe("m");
  });

  it("posts the content of files in memory, for each attempt anew, without other versions", async () => {
    const { backend, asked } = setUp();
    await backend.createInstance(spec({ kind: "memory" }), live);
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      const message = await asked[0]?.order.message();
      const arrived = structuredClone(message?.input, { transfer: [...(message?.transfer ?? [])] });
      const texts = Object.values(arrived?.bytes ?? {}).map((bytes) => new TextDecoder().decode(bytes));
      expect(texts).toEqual(["config.pbtxt", "labels.txt", "2/model.onnx", "2/weights/a.bin"]);
    }
  });

  it("posts copies of the inputs and leaves the originals for a retry", async () => {
    const { backend, executed } = setUp();
    const instance = await backend.createInstance(spec({ kind: "memory" }), live);
    const body = Uint8Array.of(0, 1, 2, 3);
    const input = {
      kind: "bytes",
      name: "x",
      datatype: "UINT8",
      shape: [2],
      bytes: body.subarray(1, 3),
    } as const;
    const request = { id: "", inputs: [input], outputs: ["y"], batchSize: 0, parameters: {} };
    await instance.execute([request]);
    await instance.execute([request]);
    expect(executed).toEqual([
      { bytes: [1, 2], transferred: 1 },
      { bytes: [1, 2], transferred: 1 },
    ]);
    expect([...input.bytes]).toEqual([1, 2]);
  });

  it("has a device memory where it runs on WebGPU alone", async () => {
    expect(await setUp("wasm").backend.createInstance(spec({ kind: "memory" }), live)).not.toHaveProperty(
      "deviceMemory",
    );
    const onGpu = await setUp("webgpu").backend.createInstance(spec({ kind: "memory" }), live);
    expect(onGpu.deviceMemory?.worker).toBe("w1");
  });

  it("reads what lies in other workers; who cannot be read for fails alone", async () => {
    const { backend, executed } = setUp("webgpu");
    const instance = await backend.createInstance(spec({ kind: "memory" }), live);
    const on = (worker: string, handle: number): DeviceTensor => ({
      kind: "device",
      name: "x",
      datatype: "UINT8",
      shape: [1],
      worker,
      handle,
    });
    const requests = [on("w2", 5), on("ended", 6), on("w1", 7)].map((input) => ({
      id: "",
      inputs: [input],
      outputs: ["y"],
      batchSize: 0,
      parameters: {},
    }));
    const result = await instance.execute(requests);
    expect(executed).toEqual([{ bytes: [5], transferred: 1 }]);
    expect(result).toMatchObject({
      outcomes: [
        { kind: "response" },
        {
          kind: "error",
          error: {
            code: "UNAVAILABLE",
            message: "an input lay on a GPU and could not be read from there: the worker has ended",
          },
        },
        { kind: "response" },
      ],
      readbacks: 2,
    });
  });

  it("reads everything for an instance without device memory", async () => {
    const { backend, executed } = setUp("wasm");
    const instance = await backend.createInstance(spec({ kind: "memory" }), live);
    const input: DeviceTensor = {
      kind: "device",
      name: "x",
      datatype: "UINT8",
      shape: [1],
      worker: "w1",
      handle: 5,
    };
    await instance.execute([{ id: "", inputs: [input], outputs: ["y"], batchSize: 0, parameters: {} }]);
    expect(executed).toEqual([{ bytes: [5], transferred: 1 }]);
  });
});
