import { gunzipSync, gzipSync } from "node:zlib";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { compressionGzip, createGrpcTransport } from "@connectrpc/connect-node";
import { DATATYPES, decodeStringElements, InferenceError } from "@naiad/protocol";
import { EchoServer, echoModel, fakeHandlers } from "@naiad/testing";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { connect, type Connection, PROTOCOLS } from "../test/clients.ts";
import { createGrpcBench, type GrpcBenchOptions } from "../test/grpc-bench.ts";
import { bool, double, echoMessage, firstInt32, int64, string } from "../test/infer-messages.ts";
import { serveExchange } from "../test/serve-exchange.ts";
import { GRPCInferenceService } from "./gen/grpc_service_pb.ts";
import { createGrpcHandler } from "./grpc-handler.ts";
import type { GrpcOptions } from "./grpc-options.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function start(options: GrpcBenchOptions = { models: { m: echoModel() } }) {
  const bench = await createGrpcBench(options);
  closing.push(bench.close);
  return bench;
}

async function client(options: GrpcOptions): Promise<Connection["client"]> {
  const connection = await connect("gRPC", options);
  closing.push(connection.close);
  return connection.client;
}

async function failureOf(call: Promise<unknown>): Promise<ConnectError> {
  return call.then(
    () => {
      throw new Error("it did not fail");
    },
    (thrown: unknown) => ConnectError.from(thrown),
  );
}

const CLASSES = {
  "config.pbtxt": `
    backend: "fake" max_batch_size: 4
    input { name: "x" data_type: TYPE_FP32 dims: [3] }
    output { name: "y" data_type: TYPE_FP32 dims: [3] label_filename: "labels.txt" }`,
  "1/model.fake": "",
  "labels.txt": "cat\ndog\n",
};

describe.each(PROTOCOLS)("ModelInfer over %s", (protocol) => {
  it("answers with raw contents, the request's id and the version that ran", async () => {
    const { client } = await start({
      protocol,
      models: { m: echoModel([1, 3], "version_policy { all {} }") },
    });
    const response = await client.modelInfer(echoMessage("m", 7, { id: "a" }));
    expect(response).toMatchObject({
      modelName: "m",
      modelVersion: "3",
      id: "a",
      outputs: [{ name: "y", datatype: "INT32", shape: [1n, 1n] }],
    });
    expect(firstInt32(response.rawOutputContents)).toBe(7);
  });

  it("takes typed contents", async () => {
    const { client } = await start({ protocol, models: { m: echoModel() } });
    const { rawOutputContents } = await client.modelInfer({
      modelName: "m",
      inputs: [{ name: "x", datatype: "INT32", shape: [2n, 1n], contents: { intContents: [-1, 5] } }],
    });
    expect(new Int32Array(rawOutputContents[0]?.slice().buffer ?? new ArrayBuffer(0))).toEqual(
      Int32Array.of(-1, 5),
    );
  });

  it("gives the best classes as BYTES", async () => {
    const { client } = await start({ protocol, models: { classes: CLASSES } });
    const { outputs, rawOutputContents } = await client.modelInfer({
      modelName: "classes",
      inputs: [{ name: "x", datatype: "FP32", shape: [1n, 3n], contents: { fp32Contents: [0.5, 2, 1] } }],
      outputs: [{ name: "y", parameters: { classification: int64(2n) } }],
    });
    expect(outputs).toMatchObject([{ name: "y", datatype: "BYTES", shape: [1n, 2n] }]);
    expect(decodeStringElements(rawOutputContents[0] ?? new Uint8Array(0), "y")).toEqual([
      "2.000000:1:dog",
      "1.000000:2",
    ]);
  });

  it("tells Triton's errors with their statuses", async () => {
    const { client } = await start({ protocol, models: { m: echoModel() } });
    const unknown = await failureOf(client.modelInfer(echoMessage("wrong", 1)));
    expect([unknown.code, unknown.rawMessage]).toEqual([
      Code.NotFound,
      "Request for unknown model: 'wrong' is not found",
    ]);
    const none = await failureOf(client.modelInfer({ modelName: "m", id: "7" }));
    expect([none.code, none.rawMessage]).toEqual([
      Code.InvalidArgument,
      "[request id: 7] expected 1 inputs but got 0 inputs for model 'm'. Got input(s) [], but missing required " +
        "input(s) ['x']. Please provide all required input(s).",
    ]);
    const negative = echoMessage("m", 1, { shape: [-1n, 1n] });
    expect((await failureOf(client.modelInfer(negative))).rawMessage).toBe(
      "[request id: <id_unknown>] All input dimensions should be specified for input 'x' for model 'm', got [-1,1]",
    );
  });

  it("refuses decoupled models before it looks at the request", async () => {
    const models = { d: echoModel([1], "model_transaction_policy { decoupled: true }") };
    const { client } = await start({ protocol, models });
    for (const request of [echoMessage("d", 1), { modelName: "d", inputs: [{ datatype: "what" }] }]) {
      const error = await failureOf(client.modelInfer(request));
      expect([error.code, error.rawMessage]).toEqual([
        Code.Unimplemented,
        "ModelInfer RPC doesn't support models with decoupled transaction policy",
      ]);
    }
  });

  it("tells the model before a fault of the request", async () => {
    const { client } = await start({ protocol });
    const message = { modelName: "wrong", inputs: [{ name: "x", datatype: "what" }] };
    expect((await failureOf(client.modelInfer(message))).rawMessage).toBe(
      "Request for unknown model: 'wrong' is not found",
    );
  });

  it("gives the configuration back as the message it is", async () => {
    const models = { classes: CLASSES };
    const { client } = await start({ protocol, models });
    const { config } = await client.modelConfig({ name: "classes" });
    expect(config).toMatchObject({
      $typeName: "inference.ModelConfig",
      name: "classes",
      backend: "fake",
      maxBatchSize: 4,
      input: [{ name: "x", dims: [3n] }],
      output: [{ labelFilename: "labels.txt" }],
    });
    expect((await failureOf(client.modelConfig({ name: "none" }))).code).toBe(Code.NotFound);
  });
});

describe("ModelInfer", () => {
  it("keeps the types of a response's parameters", async () => {
    const handlers = fakeHandlers({
      modelInfer: () =>
        Promise.resolve({
          modelName: "m",
          modelVersion: "1",
          id: "",
          parameters: { text: "t", flag: true, int: -5n, large: 2n ** 64n - 1n, double: 0.5 },
          outputs: [],
        }),
    });
    const { parameters } = await (await client({ handlers })).modelInfer({ modelName: "m" });
    expect(
      Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, value.parameterChoice])),
    ).toEqual({
      text: { case: "stringParam", value: "t" },
      flag: { case: "boolParam", value: true },
      int: { case: "int64Param", value: -5n },
      large: { case: "uint64Param", value: 2n ** 64n - 1n },
      double: { case: "doubleParam", value: 0.5 },
    });
  });

  it("gives back any tensor as it was sent, through an echo", async () => {
    const echo = await client({ handlers: new EchoServer() });
    const tensor = fc.record({
      name: fc.string(),
      datatype: fc.constantFrom(...DATATYPES),
      shape: fc.array(fc.bigInt({ min: 0n, max: 2n ** 31n }), { maxLength: 2 }),
      bytes: fc.uint8Array(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(tensor, { maxLength: 4 }), async (tensors) => {
        const described = tensors.map(({ name, datatype, shape }) => ({ name, datatype, shape }));
        const rawInputContents = tensors.map(({ bytes }) => bytes);
        const { outputs, rawOutputContents } = await echo.modelInfer({
          modelName: "echo",
          inputs: described,
          rawInputContents,
        });
        expect(outputs).toMatchObject(described);
        expect(rawOutputContents).toEqual(rawInputContents);
      }),
      { seed: 6, numRuns: 30 },
    );
  });

  it("hands sequence, priority, timeout and custom parameters on", async () => {
    const server = new EchoServer();
    await (
      await client({ handlers: server })
    ).modelInfer({
      modelName: "echo",
      modelVersion: "2",
      parameters: {
        sequence_id: int64(-1n),
        sequence_start: bool(true),
        priority: int64(3n),
        timeout: int64(1000n),
        note: string("n"),
        scale: double(2.5),
        triton_enable_empty_final_response: bool(true),
      },
    });
    expect(server.lastInput()).toEqual({
      modelName: "echo",
      modelVersion: "2",
      id: "",
      sequence: { id: 2n ** 64n - 1n, start: true, end: false },
      priority: 3,
      timeoutUs: 1000,
      parameters: { note: "n", scale: 2.5 },
      inputs: [],
      outputs: [],
    });
  });

  it.each([
    ["UNKNOWN", Code.Unknown],
    ["INTERNAL", Code.Internal],
    ["NOT_FOUND", Code.NotFound],
    ["INVALID_ARG", Code.InvalidArgument],
    ["UNAVAILABLE", Code.Unavailable],
    ["UNSUPPORTED", Code.Unimplemented],
    ["ALREADY_EXISTS", Code.AlreadyExists],
    ["CANCELLED", Code.Canceled],
  ] as const)("tells %s as status %i with its text, whatever letters it has", async (code, expected) => {
    const handlers = fakeHandlers({
      modelInfer: () => Promise.reject(new InferenceError(code, "größer als 4 ≠ 5")),
      modelConfig: () => Promise.resolve({}),
    });
    const error = await failureOf((await client({ handlers })).modelInfer({ modelName: "m" }));
    expect([error.code, error.rawMessage]).toEqual([expected, "größer als 4 ≠ 5"]);
  });

  it("says when it makes sense to try again", async () => {
    const handlers = fakeHandlers({
      modelInfer: () => Promise.reject(new InferenceError("UNAVAILABLE", "busy", { retryAfterSecs: 0.25 })),
    });
    const error = await failureOf((await client({ handlers })).modelInfer({ modelName: "m" }));
    expect(error.metadata.get("grpc-retry-pushback-ms")).toBe("250");
  });

  it("cancels the request when its client does", async () => {
    const server = new EchoServer();
    server.gate = new Promise(() => undefined);
    const leaving = new AbortController();
    const call = (await client({ handlers: server })).modelInfer(
      { modelName: "echo" },
      { signal: leaving.signal },
    );
    const failing = failureOf(call);
    await expect.poll(() => server.signals.length).toBe(1);
    expect(server.signals[0]?.aborted).toBe(false);
    leaving.abort();
    expect((await failing).code).toBe(Code.Canceled);
    await expect.poll(() => server.signals[0]?.aborted).toBe(true);
  });

  it("answers a request whose deadline passes with that status", async () => {
    const handlers = fakeHandlers({
      modelInfer: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            reject(new InferenceError("CANCELLED", "request was cancelled"));
          });
        }),
    });
    const call = (await client({ handlers })).modelInfer({ modelName: "m" }, { timeoutMs: 50 });
    expect((await failureOf(call)).code).toBe(Code.DeadlineExceeded);
  });

  it("refuses messages beyond the limit, either way", async () => {
    const { client } = await start({ models: { m: echoModel() }, grpc: { maxMessageSize: 64 } });
    const large = { ...echoMessage("m", 1), id: "x".repeat(100) };
    expect((await failureOf(client.modelInfer(large))).code).toBe(Code.ResourceExhausted);
    expect(firstInt32((await client.modelInfer(echoMessage("m", 1))).rawOutputContents)).toBe(1);
  });

  it("says which response was larger than a message may be", async () => {
    const bytes = new Uint8Array(100);
    const handlers = fakeHandlers({
      modelInfer: () =>
        Promise.resolve({
          modelName: "m",
          modelVersion: "1",
          id: "",
          parameters: {},
          outputs: [{ kind: "bytes", name: "y", datatype: "UINT8", shape: [100], bytes }],
        }),
      modelConfig: () => Promise.resolve({}),
    });
    const error = await failureOf(
      (await client({ handlers, maxMessageSize: 64 })).modelInfer({ modelName: "m" }),
    );
    expect([error.code, error.rawMessage]).toEqual([
      Code.InvalidArgument,
      "Response has byte size 100 which exceeds gRPC's byte size limit 64.",
    ]);
  });

  it("lets only calls with the header of a restricted protocol pass", async () => {
    const restrictedProtocols = [
      { categories: ["inference", "health"], header: "key", value: "secret" },
    ] as const;
    const { client } = await start({ models: { m: echoModel() }, grpc: { restrictedProtocols } });
    const error = await failureOf(client.modelInfer(echoMessage("m", 1)));
    expect([error.code, error.rawMessage]).toEqual([
      Code.Unavailable,
      "This protocol is restricted, expecting header 'triton-grpc-protocol-key'",
    ]);
    expect((await failureOf(client.serverLive({}))).code).toBe(Code.Unavailable);
    await expect(client.serverMetadata({})).resolves.toMatchObject({ name: "triton" });
    const headers = { "triton-grpc-protocol-key": "secret" };
    await expect(client.modelInfer(echoMessage("m", 1), { headers })).resolves.toMatchObject({
      modelName: "m",
    });
  });

  it("forwards the metadata that are asked for as parameters", async () => {
    const server = new EchoServer();
    const infer = await client({ handlers: server, headerForwardPattern: "^x-|^triton_|^te$|^grpc-" });
    await infer.modelInfer({ modelName: "echo" }, { headers: { "x-user": "me", other: "o" } });
    expect(server.lastInput()).toMatchObject({ parameters: { "x-user": "me" } });
    const error = await failureOf(
      infer.modelInfer({ modelName: "echo" }, { headers: { triton_grpc_error: "true" } }),
    );
    expect(error.rawMessage).toBe(
      "Header 'triton_grpc_error' is reserved for Triton usage and cannot be forwarded.",
    );
  });

  it.each([
    { compressedResponses: undefined, expected: [] },
    { compressedResponses: "long", expected: ["gzip"] },
  ] as const)("unpacks, and packs $compressedResponses", async ({ compressedResponses, expected }) => {
    const packed: string[] = [];
    const handler = createGrpcHandler({
      handlers: new EchoServer(),
      ...(compressedResponses && { compressedResponses }),
      compression: {
        compress: (encoding, bytes) => {
          packed.push(encoding);
          return Promise.resolve(gzipSync(bytes));
        },
        decompress: (_, bytes, maxByteSize) =>
          Promise.resolve(gunzipSync(bytes, { maxOutputLength: maxByteSize })),
      },
    });
    const { baseUrl, close } = await serveExchange(handler);
    closing.push(close);
    const transport = createGrpcTransport({ baseUrl, sendCompression: compressionGzip, compressMinBytes: 0 });
    const { id } = await createClient(GRPCInferenceService, transport).modelInfer({
      modelName: "echo",
      id: "a".repeat(5000),
    });
    expect(id).toBe("a".repeat(5000));
    expect(packed).toEqual(expected);
  });
});
