import type { JsonValue } from "@naiad/protocol";
import { parseRestrictedApis } from "@naiad/protocol";
import type { FakeAnswer, MemoryModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { createHttpBench } from "../test/http-bench.ts";

/** Two inputs, whose contents come back as the two outputs. */
function mock(inputs: string, maxBatchSize = 0): MemoryModel {
  const outputs = inputs.replaceAll("input {", "output {").replaceAll(/"(\w+)"/g, '"OUT_$1"');
  return {
    "config.pbtxt": `backend: "fake" max_batch_size: ${String(maxBatchSize)} ${inputs} ${outputs}`,
    "1/model.fake": "",
  };
}

const PROMPT = 'input { name: "PROMPT" data_type: TYPE_STRING dims: [1] }';
const MODELS = {
  llm: mock(`${PROMPT} input { name: "STREAM" data_type: TYPE_BOOL dims: [1] }`),
  batched: mock('input { name: "X" data_type: TYPE_FP32 dims: [2] }', 8),
  matrix: mock('input { name: "X" data_type: TYPE_INT64 dims: [-1, 2, -1] }'),
  half: mock('input { name: "X" data_type: TYPE_FP16 dims: [1] }'),
  wide: mock('input { name: "X" data_type: TYPE_UINT8 dims: [-1] }'),
  named: mock('input { name: "parameters" data_type: TYPE_INT32 dims: [1] }'),
};

function startBench(onExecute?: () => FakeAnswer) {
  return createHttpBench({ models: MODELS, ...(onExecute && { backend: { onExecute } }) });
}

const HELLO = { PROMPT: "hello", STREAM: false };

describe("generate", () => {
  const answer = (more: string, rest = "") =>
    `{"OUT_PROMPT":"hello","OUT_STREAM":false,${more}"model_name":"llm","model_version":"1"${rest}}`;

  it.each<[string, JsonValue | string, string]>([
    ["scalars", HELLO, answer("")],
    ["arrays", { STREAM: [false], PROMPT: ["hello"] }, answer("")],
    ["an id", { ...HELLO, id: "7" }, answer('"id":"7",')],
    ["inputs among the parameters", { PROMPT: "hello", parameters: { STREAM: false, k: 1 } }, answer("")],
  ])("takes %s", async (_name, body, text) => {
    const { post } = await startBench();
    for (const path of ["/v2/models/llm/generate", "/v2/models/llm/versions/1/generate"]) {
      const got = await post(path, body);
      expect([got.status, got.header("content-type"), got.text]).toEqual([200, "application/json", text]);
    }
  });

  it("hands on what is no input as parameters, the id too", async () => {
    const { bench, post } = await startBench();
    const body =
      '{"PROMPT":"hello","STREAM":true,"id":"7","n":5,"t":0.5,"parameters":{"s":"x","sequence_id":3,"b":true}}';
    expect((await post("/v2/models/llm/generate", body)).status).toBe(200);
    const [request] = bench.backend.executions[0]?.requests ?? [];
    expect(request?.id).toBe("7");
    expect(request?.parameters).toEqual({ id: "7", n: 5n, t: 0.5, s: "x", sequence_id: 3n, b: true });
  });

  it.each<[string, JsonValue, readonly number[], string]>([
    ["batched", { X: [1, 2] }, [1, 2], "[1.0,2.0]"],
    ["batched", { X: [1, 2, 3, 4] }, [2, 2], "[1.0,2.0,3.0,4.0]"],
    ["matrix", { X: [1, 2, 3, 4, 5, 6] }, [1, 2, 3], "[1,2,3,4,5,6]"],
    ["wide", { X: 300 }, [1], "44"],
    [
      "wide",
      { X: Array.from({ length: 100 }, (_, index) => index) },
      [100],
      `[${[...Array(100).keys()].join(",")}]`,
    ],
  ])("fits the shape of %s to %j", async (model, body, shape, data) => {
    const { bench, post } = await startBench();
    const got = await post(`/v2/models/${model}/generate`, body);
    expect(got.text).toBe(`{"OUT_X":${data},"model_name":"${model}","model_version":"1"}`);
    expect(bench.backend.executions[0]?.requests[0]?.inputs[0]?.shape).toEqual(shape);
  });

  const NO_FIT = "The schema can not convert input 'X' to tensor with proper shape";
  const TYPE = "It should be either 'int', 'bool', or 'string'.";
  it.each<[string, string, JsonValue | string, number, string]>([
    ["no body", "llm", "", 500, "failed to parse the request JSON buffer: The document is empty. at 0"],
    [
      "broken JSON",
      "llm",
      "{",
      500,
      "failed to parse the request JSON buffer: Missing a name for object member. at 1",
    ],
    ["no object", "llm", [1], 500, "attempt to get members for non-object"],
    [
      "an id that is no text",
      "llm",
      { ...HELLO, id: 5 },
      500,
      "Unable to parse 'id': attempt to access JSON non-string as string",
    ],
    [
      "no inputs",
      "llm",
      { abc: 123 },
      400,
      "[request id: <id_unknown>] expected 2 inputs but got 0 inputs for model 'llm'. Got input(s) [], but missing required input(s) ['PROMPT','STREAM']. Please provide all required input(s).",
    ],
    [
      "a number for a text",
      "llm",
      { ...HELLO, PROMPT: 1 },
      500,
      "Unable to parse JSON bytes array: attempt to access JSON non-string as string",
    ],
    [
      "a text for a boolean",
      "llm",
      { ...HELLO, STREAM: "no" },
      500,
      "Unable to parse 'data': attempt to access JSON non-boolean as boolean",
    ],
    [
      "an object for an input",
      "llm",
      { ...HELLO, STREAM: {} },
      500,
      "Unable to parse 'data': attempt to access JSON non-boolean as boolean",
    ],
    ["two texts for one", "llm", { ...HELLO, PROMPT: ["a", "b"] }, 400, NO_FIT.replace("'X'", "'PROMPT'")],
    ["a list as a parameter", "llm", { ...HELLO, k: [1] }, 400, `parameter 'k' has invalid type. ${TYPE}`],
    ["an object as a parameter", "llm", { ...HELLO, k: {} }, 400, `parameter 'k' has invalid type. ${TYPE}`],
    [
      "parameters that are no object",
      "llm",
      { ...HELLO, parameters: 1 },
      400,
      "Expected JSON object for keyword: 'parameters'",
    ],
    [
      "parameters inside parameters",
      "llm",
      { ...HELLO, parameters: { parameters: {} } },
      400,
      `Converting keyword: 'parameters': parameter 'parameters' has invalid type. ${TYPE}`,
    ],
    [
      "a wrong input among the parameters",
      "llm",
      { parameters: { PROMPT: 5 } },
      500,
      "Converting keyword: 'parameters': Unable to parse JSON bytes array: attempt to access JSON non-string as string",
    ],
    [
      "an input called parameters",
      "named",
      { parameters: 1 },
      400,
      "Keyword 'parameters' for nested schema also given as input tensor name",
    ],
    [
      "an input twice",
      "llm",
      '{"PROMPT":"a","STREAM":false,"PROMPT":"b","id":"7"}',
      400,
      "[request id: 7] input 'PROMPT' already exists in request",
    ],
    [
      "an input beside and among the parameters",
      "llm",
      { ...HELLO, parameters: { STREAM: true } },
      400,
      "Converting keyword: 'parameters': [request id: <id_unknown>] input 'STREAM' already exists in request",
    ],
    ["an odd number for rows of two", "batched", { X: [1, 2, 3] }, 400, NO_FIT],
    [
      "a nested list of another size",
      "batched",
      { X: [[1, 2], 3] },
      500,
      "Unable to parse 'data': Shape does not match true shape of 'data' field",
    ],
    [
      "nothing for a batch",
      "batched",
      { X: [] },
      400,
      "[request id: <id_unknown>] input 'X' has no shape but model requires batch dimension for 'batched'",
    ],
    [
      "a fraction for an integer",
      "wide",
      { X: 1.5 },
      500,
      "Unable to parse 'data': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ],
    [
      "FP16",
      "half",
      { X: 1 },
      400,
      "receiving FP16 data via JSON is not supported. Please use the binary data format for input X",
    ],
  ])("refuses %s, as a stream too", async (_name, model, body, status, error) => {
    const { post } = await startBench();
    for (const action of ["generate", "generate_stream"]) {
      const got = await post(`/v2/models/${model}/${action}`, body);
      expect([got.status, got.header("content-type"), got.error]).toEqual([
        status,
        "application/json",
        error,
      ]);
    }
  });

  it("refuses what is too big together", async () => {
    const { post } = await createHttpBench({ models: MODELS, http: { maxInputSize: 60 } });
    const got = await post("/v2/models/llm/generate", { STREAM: true, PROMPT: Array(10).fill("") });
    expect([got.status, got.error]).toEqual([
      400,
      "The schema can not convert input 'PROMPT' to tensor with proper shape",
    ]);
    const big = await post("/v2/models/matrix/generate", { X: [1, 2, 3, 4, 5, 6, 7, 8] });
    expect([big.status, big.error]).toEqual([
      400,
      "request size of 64 bytes with input 'X' of size 64 bytes exceeds the maximum allowed input size of 60. Use --http-max-input-size to increase the limit.",
    ]);
  });

  it("looks for the model before anything else", async () => {
    const { post, get } = await startBench();
    const gzip = [["content-encoding", "gzip"]] as const;
    const unknown = await post("/v2/models/nobody/generate", "{", gzip);
    expect([unknown.status, unknown.error]).toEqual([
      404,
      "Request for unknown model: 'nobody' is not found",
    ]);
    const packed = await post("/v2/models/llm/generate", "{", gzip);
    expect([packed.status, packed.error]).toEqual([
      400,
      "Unsupported content-encoding, only 'identity' is supported.",
    ]);
    expect((await get("/v2/models/llm/generate")).status).toBe(405);
    expect((await post("/v2/models/llm/versions/x/generate", HELLO)).status).toBe(404);
  });

  it("writes what the model says besides outputs, sorted; the names of the server go first", async () => {
    const { post } = await startBench(() => ({
      kind: "complete",
      outcomes: [
        {
          kind: "response",
          parameters: { z: true, a: 1n, model_name: "shadow", half: 0.5, text: 'q"' },
          outputs: [
            { kind: "bytes", name: "OUT_X", datatype: "UINT8", shape: [0], bytes: new Uint8Array(0) },
          ],
        },
      ],
    }));
    const got = await post("/v2/models/wide/generate", { X: 1 });
    expect(got.text).toBe(
      '{"OUT_X":[],"a":1,"half":0.5,"model_name":"wide","model_version":"1","text":"q\\"","z":true}',
    );
  });

  it("gives the model's error with its code", async () => {
    const { post } = await startBench(() => ({
      kind: "fail",
      error: { code: "INTERNAL", message: "burnt" },
    }));
    const got = await post("/v2/models/llm/generate", HELLO);
    expect([got.status, got.text]).toEqual([500, '{"error":"burnt"}']);
  });
});

describe("generate_stream", () => {
  const STREAM = "/v2/models/llm/generate_stream";

  it("is one event for a model that answers once", async () => {
    const { post } = await startBench();
    const got = await post(STREAM, HELLO);
    expect([got.status, got.header("content-type"), got.header("content-length")]).toEqual([
      200,
      "text/event-stream; charset=utf-8",
      undefined,
    ]);
    expect(got.text).toBe(
      'data: {"OUT_PROMPT":"hello","OUT_STREAM":false,"model_name":"llm","model_version":"1"}\n\n',
    );
  });

  it("tells the model's own error as an event, with its status", async () => {
    const { post } = await startBench(() => ({
      kind: "fail",
      error: { code: "INVALID_ARG", message: "no" },
    }));
    const got = await post(STREAM, HELLO);
    expect([got.status, got.header("content-type"), got.text]).toEqual([
      400,
      "text/event-stream; charset=utf-8",
      'data: {"error":"no"}\n\n',
    ]);
  });

  it("can be restricted like infer", async () => {
    const { post } = await createHttpBench({
      models: MODELS,
      http: { restrictedApis: parseRestrictedApis(["inference:key=1"]) },
    });
    expect((await post(STREAM, HELLO)).status).toBe(403);
    expect((await post(STREAM, HELLO, [["key", "1"]])).status).toBe(200);
  });
});
