import type { InferenceRequest, InferenceResponse } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import {
  ECHO_LOG_SETTINGS,
  ECHO_METADATA,
  ECHO_STATISTICS,
  ECHO_TRACE_SETTINGS,
  EchoServer,
} from "@naiad/testing";
import { afterEach, describe, expect, it } from "vitest";
import type { Way } from "../test/ways.ts";
import { overChannel, WAYS } from "../test/ways.ts";
import type { InferCall } from "./infer-request.ts";
import { createInferenceClient } from "./inference-client.ts";
import type { Transport } from "./transport.ts";

describe.each(WAYS)("InferenceClient over $name", ({ open }) => {
  let way: Way | undefined;

  function connect() {
    const server = new EchoServer();
    way = open(server);
    return { server, client: createInferenceClient(way.transport), way };
  }

  afterEach(() => {
    way?.close();
  });

  it("asks for health", async () => {
    const { client, server } = connect();
    expect([await client.serverLive(), await client.serverReady()]).toEqual([true, true]);
    server.isReady = false;
    expect(await client.serverReady()).toBe(false);
    expect(await client.modelReady("echo")).toBe(true);
    expect(await client.modelReady("echo", { modelVersion: "3" })).toBe(false);
    expect(server.lastInput()).toEqual({ modelName: "echo", modelVersion: "3" });
    expect(await client.modelReady("nobody")).toBe(false);
  });

  it("asks for metadata, configuration and statistics", async () => {
    const { client, server } = connect();
    expect(await client.serverMetadata()).toMatchObject({
      name: "naiad",
      extensions: ["binary_tensor_data"],
    });
    expect(await client.modelMetadata("echo", { modelVersion: "1" })).toEqual(ECHO_METADATA);
    expect(server.lastInput()).toEqual({ modelName: "echo", modelVersion: "1" });
    expect(await client.modelConfig("echo")).toEqual({ name: "echo", max_batch_size: 4, big: 2n ** 60n });
    expect(await client.modelStatistics("echo")).toEqual(ECHO_STATISTICS);
    expect(server.lastInput()).toEqual({ modelName: "echo", modelVersion: "" });
    await client.modelStatistics();
    expect(server.lastInput()).toEqual({ modelName: "", modelVersion: "" });
  });

  it("asks for metrics", async () => {
    const { client } = connect();
    expect(await client.metrics()).toBe("# TYPE echoes counter\nechoes 1\n");
  });

  it("reads and changes settings of traces and log", async () => {
    const { client, server } = connect();
    expect(await client.traceSettings()).toEqual(ECHO_TRACE_SETTINGS);
    expect(server.lastInput()).toEqual({ modelName: "" });
    expect(
      await client.updateTraceSettings({ trace_rate: "2", trace_level: null }, { modelName: "echo" }),
    ).toEqual({ ...ECHO_TRACE_SETTINGS, trace_rate: "2" });
    expect(server.lastInput()).toEqual({
      modelName: "echo",
      update: { trace_rate: "2", trace_level: null },
    });
    expect(await client.logSettings()).toEqual(ECHO_LOG_SETTINGS);
    expect(server.lastInput()).toEqual({});
    expect(await client.updateLogSettings({ log_info: false })).toEqual({
      ...ECHO_LOG_SETTINGS,
      log_info: false,
    });
    expect(server.lastInput()).toEqual({ update: { log_info: false } });
  });

  it("asks for shared memory as a real Triton has it", async () => {
    const { client, server } = connect();
    expect(await client.systemSharedMemoryStatus()).toEqual([
      { name: "region", key: "/key", offset: 0, byte_size: 64 },
    ]);
    expect(server.lastInput()).toEqual({ regionName: "" });
    expect(await client.cudaSharedMemoryStatus("a b")).toEqual([
      { name: "region", device_id: 0, byte_size: 64 },
    ]);
    expect(server.lastInput()).toEqual({ regionName: "a b" });
    await client.registerSystemSharedMemory("r", { key: "/k", byteSize: 8 });
    expect(server.lastInput()).toEqual({ regionName: "r", key: "/k", byteSize: 8, offset: 0 });
    const rawHandle = Uint8Array.of(1, 2, 255);
    await client.registerCudaSharedMemory("r", { rawHandle, deviceId: 1, byteSize: 8 });
    expect(server.lastInput()).toEqual({ regionName: "r", rawHandle, deviceId: 1, byteSize: 8 });
    await client.unregisterSystemSharedMemory("r");
    await client.unregisterCudaSharedMemory();
    expect(server.lastInput()).toEqual({ regionName: "" });
  });

  it("brings the server's error with code and text", async () => {
    const { client } = connect();
    const failure = client.modelMetadata("wrong_model_name");
    await expect(failure).rejects.toBeInstanceOf(InferenceError);
    await expect(failure).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: "Request for unknown model: 'wrong_model_name' is not found",
    });
  });

  it("lists, loads and unloads models", async () => {
    const { client, server } = connect();
    expect(await client.repositoryIndex()).toEqual([
      { name: "echo", version: "1", state: "READY" },
      { name: "other" },
    ]);
    expect(await client.repositoryIndex({ ready: true })).toEqual([]);
    await client.loadModel("echo");
    expect(server.lastInput()).toEqual({ modelName: "echo" });
    const file = new Uint8Array([0, 1, 254, 255]).subarray(1);
    await client.loadModel("echo", {
      config: { max_batch_size: 8 },
      files: { "file:1/model.onnx": file, "labels.txt": new Uint8Array() },
    });
    expect(server.lastInput()).toEqual({
      modelName: "echo",
      config: '{"max_batch_size":8}',
      files: { "1/model.onnx": new Uint8Array([1, 254, 255]), "labels.txt": new Uint8Array() },
    });
    expect(file.byteLength).toBe(3);
    await client.unloadModel("echo", { unloadDependents: true });
    expect(server.lastInput()).toEqual({ modelName: "echo", unloadDependents: true });
    await client.unloadModel("echo");
    expect(server.lastInput()).toEqual({ modelName: "echo", unloadDependents: false });
    await expect(client.loadModel("nobody")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("infers with every kind of value, exactly", async () => {
    const { client } = connect();
    const strings = ["", "a\0b", "größe 漢字 🎈"];
    const result = await client.infer({
      modelName: "echo",
      modelVersion: "7",
      id: "request 1",
      inputs: {
        F: { data: new Float32Array([1.5, NaN, -Infinity]), shape: [1, 3] },
        L: { data: [2n ** 63n - 1n, -(2n ** 63n)] },
        U: { data: new BigUint64Array([2n ** 64n - 1n]) },
        S: { data: strings, shape: [3, 1] },
        R: { data: [new Uint8Array([0xff, 0, 0xfe])] },
        B: { data: [true, false] },
        H: { data: new Float32Array([0.5]), datatype: "FP16" },
        G: { data: new Float32Array([-2]), datatype: "BF16" },
        E: { data: [], datatype: "FP64", shape: [0, 4] },
        N: { data: [[1, 2], [3, 4]], datatype: "INT8" }, // prettier-ignore
      },
      parameters: { text: "ä", flag: true, count: 3, ratio: 0.5, big: 2n ** 62n },
    });
    expect(result).toMatchObject({ modelName: "echo", modelVersion: "7", id: "request 1" });
    expect(result.parameters).toEqual({ text: "ä", flag: true, count: 3n, ratio: 0.5, big: 2n ** 62n });
    expect(result.output("F", "FP32").data).toEqual(new Float32Array([1.5, NaN, -Infinity]));
    expect(result.output("F").shape).toEqual([1, 3]);
    expect(result.output("L", "INT64").data).toEqual(new BigInt64Array([2n ** 63n - 1n, -(2n ** 63n)]));
    expect(result.output("U", "UINT64").data).toEqual(new BigUint64Array([2n ** 64n - 1n]));
    expect(result.output("S", "BYTES").data).toEqual(strings);
    expect(result.output("R", "BYTES").elements.map((element) => [...element])).toEqual([[0xff, 0, 0xfe]]);
    expect(result.output("B", "BOOL").data).toEqual(new Uint8Array([1, 0]));
    expect(result.output("H", "FP16").data).toEqual(new Float32Array([0.5]));
    expect(result.output("G", "BF16").data).toEqual(new Float32Array([-2]));
    expect(result.output("E", "FP64").data).toEqual(new Float64Array());
    expect(result.outputs["N"]).toMatchObject({ shape: [2, 2], data: new Int8Array([1, 2, 3, 4]) });
    expect(() => result.output("X")).toThrow("the response has no output 'X'");
    expect(() => result.output("F", "FP64")).toThrow("output 'F' is FP32, not FP64");
  });

  it("passes on everything a request can say", async () => {
    const { client, server } = connect();
    await client.infer({
      modelName: "echo",
      inputs: { X: { data: new Int32Array([1]) } },
      outputs: ["X", { name: "Y", classCount: 3 }],
      priority: 2,
      timeoutUs: 1000,
      sequence: { id: 42, start: true },
    });
    expect(server.lastInput()).toMatchObject({
      outputs: [{ name: "X" }, { name: "Y", classCount: 3 }],
      priority: 2,
      timeoutUs: 1000,
      sequence: { id: 42n, start: true, end: false },
    });
    await client.infer({ modelName: "echo", inputs: {}, sequence: { id: 0, start: true } });
    expect(server.lastInput()).not.toHaveProperty("sequence");
  });

  it("leaves the caller's arrays alone, and lets him reuse them at once", async () => {
    const { client } = connect();
    const whole = new Float32Array([1, 2, 3, 4]);
    const part = new Float32Array([0, 5, 6, 0]).subarray(1, 3);
    const call = client.infer({ modelName: "echo", inputs: { W: { data: whole }, P: { data: part } } });
    whole.fill(9);
    const result = await call;
    expect(result.output("W", "FP32").data).toEqual(new Float32Array([1, 2, 3, 4]));
    expect(result.output("P", "FP32").data).toEqual(new Float32Array([5, 6]));
    expect([whole.length, part.length]).toEqual([4, 2]);
  });

  it("rejects what does not fit before anything is sent", async () => {
    const { client, server } = connect();
    const inputs = { X: { data: new Float32Array(3), shape: [2, 2] } };
    await expect(client.infer({ modelName: "echo", inputs })).rejects.toMatchObject({ code: "INVALID_ARG" });
    await expect(
      client.infer({ modelName: "echo", inputs: {}, parameters: { sequence_id: 1 } }),
    ).rejects.toMatchObject({ code: "INVALID_ARG" });
    await expect(
      client.infer({ modelName: "echo", inputs: {}, parameters: { triton_x: 1 } }),
    ).rejects.toMatchObject({ code: "INVALID_ARG" });
    expect(server.seen).toEqual([]);
  });

  it("rejects what no type checker has seen, and says what is missing", async () => {
    const { client, server } = connect();
    const data = Float32Array.of(1);
    const calls: readonly (readonly [unknown, string])[] = [
      [undefined, "infer needs an object of { modelName, inputs }, but got undefined"],
      [null, "infer needs an object of { modelName, inputs }, but got null"],
      [{ inputs: {} }, "infer needs the option 'modelName': a string, but got undefined"],
      [
        { modelName: "echo", inputs: {}, signal: AbortSignal.abort() },
        "infer has no option 'signal': it belongs into the second argument: infer(call, { signal })",
      ],
      [
        { modelName: "echo", inputs: {}, timeout: 5 },
        "infer has no option 'timeout': it has modelName, modelVersion, inputs, outputs, id, parameters, priority, timeoutUs",
      ],
      [{ modelName: 5, inputs: {} }, "infer needs the option 'modelName': a string, but got 5"],
      [{ modelName: "echo" }, "infer needs the option 'inputs': an object, but got undefined"],
      [{ modelName: "echo", inputs: [{ data }] }, "infer needs the option 'inputs': an object"],
      [{ modelName: "echo", inputs: { X: null } }, "input 'X' must be an object with 'data', but got null"],
      [
        { modelName: "echo", inputs: { X: { shape: [1] } } },
        "the data of input 'X' must be a typed array or an array, but got undefined",
      ],
      [{ modelName: "echo", inputs: { X: { data: 5 } } }, "the data of input 'X' must be a typed array"],
    ];
    for (const [call, text] of calls) {
      await expect(client.infer(call as InferCall)).rejects.toMatchObject({
        code: "INVALID_ARG",
        message: expect.stringContaining(text) as string,
      });
    }
    expect(server.seen).toEqual([]);
  });

  it("rejects at once with CANCELLED when the signal fires", async () => {
    const { client, server } = connect();
    server.gate = new Promise(() => undefined);
    const controller = new AbortController();
    const inputs = { X: { data: new Float32Array(1) } };
    const call = client.infer({ modelName: "echo", inputs }, { signal: controller.signal });
    await expect.poll(() => server.signals.length).toBe(1);
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: "CANCELLED" });
    await expect.poll(() => server.signals[0]?.aborted).toBe(true);
    await expect(client.serverLive({ signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "CANCELLED",
    });
  });

  it("ends a call in the middle with UNAVAILABLE when the server is lost", async () => {
    const { client, server, way: broken } = connect();
    server.gate = new Promise(() => undefined);
    const call = client.infer({ modelName: "echo", inputs: { X: { data: new Float32Array(1) } } });
    await expect.poll(() => server.signals.length).toBe(1);
    broken.lose();
    await expect(call).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(client.serverLive()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });
});

describe("createInferenceClient", () => {
  it.each([[undefined], [null], [{}], ["http://localhost:8000"], [{ call: 1 }]])(
    "refuses %j",
    (transport) => {
      expect(() => {
        Reflect.apply(createInferenceClient, undefined, [transport]);
      }).toThrow(
        /^createInferenceClient needs a transport, such as createFetchTransport\(\{ url \}\), but got /,
      );
    },
  );
});

describe("InferenceClient over a port", () => {
  it("detaches what is given away, and only that", async () => {
    const way = overChannel(new EchoServer());
    const client = createInferenceClient(way.transport);
    const buffer = new ArrayBuffer(16);
    const given = {
      A: { data: new Float32Array(buffer, 0, 2) },
      B: { data: new Float32Array(buffer, 8, 2) },
    };
    const shared = new Uint8Array(new SharedArrayBuffer(2));
    shared.set([1, 2]);
    const result = await client.infer({
      modelName: "echo",
      inputs: { ...given, C: { data: ["text"] }, D: { data: shared } },
      transfer: true,
    });
    expect(buffer.byteLength).toBe(0);
    expect(result.output("A", "FP32").data).toEqual(new Float32Array(2));
    expect(result.output("C", "BYTES").data).toEqual(["text"]);
    expect(result.output("D", "UINT8").data).toEqual(new Uint8Array([1, 2]));
    way.close();
  });

  it("sends no more of a buffer than the view", async () => {
    const server = new EchoServer();
    const way = overChannel(server);
    const data = new Uint8Array(1000).subarray(10, 12);
    await createInferenceClient(way.transport).infer({ modelName: "echo", inputs: { X: { data } } });
    const request = server.lastInput() as InferenceRequest;
    expect(request.inputs.map((tensor) => tensor.kind === "bytes" && tensor.bytes.buffer.byteLength)).toEqual(
      [2],
    );
    way.close();
  });

  it("says so when an array was given away before", async () => {
    const way = overChannel(new EchoServer());
    const client = createInferenceClient(way.transport);
    const inputs = { X: { data: new Float32Array(4), shape: [4] } };
    await client.infer({ modelName: "echo", inputs, transfer: true });
    await expect(client.infer({ modelName: "echo", inputs })).rejects.toMatchObject({
      code: "INVALID_ARG",
      message: "got 0 elements for input 'X', expected 4 for shape [4]",
    });
    way.close();
  });
});

describe("a response whose output does not fit its shape", () => {
  it("is refused", async () => {
    const response: InferenceResponse = {
      modelName: "m",
      modelVersion: "1",
      id: "",
      parameters: {},
      outputs: [{ kind: "bytes", name: "Y", datatype: "FP32", shape: [2], bytes: new Uint8Array(4) }],
    };
    // Every operation of this transport is the one that is asked for.
    const transport = { call: () => Promise.resolve(response) } as unknown as Transport;
    await expect(
      createInferenceClient(transport).infer({ modelName: "m", inputs: {} }),
    ).rejects.toMatchObject({
      code: "INTERNAL",
      message: "output 'Y' has 4 bytes, expected 8 for FP32 of shape [2]",
    });
  });
});
