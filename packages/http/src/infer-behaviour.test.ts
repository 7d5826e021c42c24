import type { HeaderList, JsonObject, JsonValue } from "@naiad/protocol";
import { encodeBytesElements, encodeJson } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { Answer, HttpBench } from "../test/http-bench.ts";
import { createHttpBench } from "../test/http-bench.ts";
import { fakeModel, identityModel } from "../test/models.ts";

/** What Triton's own suites for HTTP, input validation and output names look after, against a whole server. */
const MODELS = {
  simple: fakeModel({
    inputs: "INPUT0 INT32 [16]; INPUT1 INT32 [16]",
    outputs: "OUTPUT0 INT32 [16]; OUTPUT1 INT32 [16]",
    maxBatchSize: 8,
  }),
  fp32: identityModel("FP32", "[-1]"),
  fixed: identityModel("FP32", "[1,2]"),
  open: identityModel("INT16", "[-1,-1]"),
  text: identityModel("STRING", "[1]", { maxBatchSize: 8 }),
  texts: identityModel("STRING", "[-1]"),
  half: identityModel("FP16", "[2]"),
  flag: identityModel("BOOL", "[-1]"),
  optional: fakeModel({
    inputs: "A INT32 [1]; B INT32 [1] optional: true; C INT32 [1]",
    outputs: "X INT32 [1]",
  }),
};

const NOTE =
  "NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. See the model configuration docs for more info on max_batch_size.";

function startBench(): Promise<HttpBench> {
  return createHttpBench({ models: MODELS });
}

function infer(model: string): string {
  return `/v2/models/${model}/infer`;
}

const SIXTEEN = Array.from({ length: 16 }, (_, index) => index);

function input(name: string, more: JsonObject = {}): JsonObject {
  return { name, shape: [1, 16], datatype: "INT32", data: SIXTEEN, ...more };
}

function simple(more: JsonObject = {}): JsonObject {
  return { inputs: [input("INPUT0"), input("INPUT1")], ...more };
}

function one(datatype: string, shape: JsonValue, data: JsonValue, more: JsonObject = {}): JsonObject {
  return { inputs: [{ name: "INPUT0", shape, datatype, data, ...more }] };
}

function outcome({ status, error }: Answer): readonly [number, string] {
  return [status, error];
}

function outputData({ json }: Answer): JsonValue {
  const { outputs } = json as unknown as { readonly outputs: readonly { readonly data: JsonValue }[] };
  return outputs[0]?.data ?? null;
}

describe("a request for inference", () => {
  it("is answered in the order of the requested outputs", async () => {
    const { post } = await startBench();
    const whole = await post(infer("simple"), simple({ id: "my id" }));
    const tensor = (name: string): string =>
      `{"name":"${name}","datatype":"INT32","shape":[1,16],"data":[${SIXTEEN.join(",")}]}`;
    expect(whole.text).toBe(
      `{"id":"my id","model_name":"simple","model_version":"1","outputs":[${tensor("OUTPUT0")},${tensor("OUTPUT1")}]}`,
    );
    expect(whole.header("content-type")).toBe("application/json");
    const some = await post(infer("simple"), simple({ outputs: [{ name: "OUTPUT1" }] }));
    expect(some.text).toBe(`{"model_name":"simple","model_version":"1","outputs":[${tensor("OUTPUT1")}]}`);
  });

  it.each<[string, JsonValue]>([
    ["flat", SIXTEEN],
    ["nested as the shape", [SIXTEEN]],
    ["nested in any other way", [[SIXTEEN.slice(0, 3)], SIXTEEN.slice(3)]],
  ])("takes data that are %s", async (_name, data) => {
    const { post } = await startBench();
    const answer = await post(infer("simple"), { inputs: [input("INPUT0", { data }), input("INPUT1")] });
    expect(answer.status).toBe(200);
    expect(outputData(answer)).toEqual(SIXTEEN);
  });

  it.each<[string, string, JsonValue, number, string]>([
    [
      "no inputs at all",
      "simple",
      {},
      500,
      "Unable to parse 'inputs': attempt to access non-existing object member 'inputs'",
    ],
    [
      "inputs that are no list",
      "simple",
      { inputs: 5 },
      500,
      "Unable to parse 'inputs': attempt to access JSON non-array as array",
    ],
    [
      "an empty list of inputs",
      "simple",
      { inputs: [], id: "9" },
      400,
      "[request id: 9] expected 2 inputs but got 0 inputs for model 'simple'. Got input(s) [], but missing required input(s) ['INPUT0','INPUT1']. Please provide all required input(s).",
    ],
    [
      "one of two inputs",
      "simple",
      { inputs: [input("INPUT1")] },
      400,
      "[request id: <id_unknown>] expected 2 inputs but got 1 inputs for model 'simple'. Got input(s) ['INPUT1'], but missing required input(s) ['INPUT0']. Please provide all required input(s).",
    ],
    [
      "a missing input beside an optional one",
      "optional",
      { inputs: [{ name: "A", shape: [1], datatype: "INT32", data: [1] }] },
      400,
      "[request id: <id_unknown>] expected number of inputs between 2 and 3 but got 1 inputs for model 'optional'. Got input(s) ['A'], but missing required input(s) ['C']. Please provide all required input(s).",
    ],
    [
      "an unknown input",
      "simple",
      { inputs: [input("INPUT0"), input("X")] },
      400,
      "unexpected inference input 'X' for model 'simple'",
    ],
    [
      "an input twice",
      "simple",
      { inputs: [input("INPUT0"), input("INPUT0")] },
      400,
      "[request id: <id_unknown>] input 'INPUT0' already exists in request",
    ],
    [
      "an unknown output",
      "simple",
      simple({ outputs: [{ name: "DUMMY" }] }),
      400,
      "unexpected inference output 'DUMMY' for model 'simple'",
    ],
    [
      "an output twice",
      "simple",
      simple({ outputs: [{ name: "OUTPUT0" }, { name: "OUTPUT0" }] }),
      400,
      "[request id: <id_unknown>] output 'OUTPUT0' already exists in request",
    ],
    [
      "outputs that are no list",
      "simple",
      simple({ outputs: {} }),
      500,
      "Unable to parse 'outputs': attempt to access JSON non-array as array",
    ],
    [
      "an output without a name",
      "simple",
      simple({ outputs: [{}] }),
      500,
      "Unable to parse 'name': attempt to access non-existing object member 'name'",
    ],
    [
      "an input without a name",
      "fp32",
      { inputs: [{ shape: [1], datatype: "FP32", data: [1] }] },
      500,
      "Unable to parse 'name': attempt to access non-existing object member 'name'",
    ],
    [
      "an input without a datatype",
      "fp32",
      { inputs: [{ name: "INPUT0", shape: [1], data: [1] }] },
      500,
      "Unable to parse 'datatype': attempt to access non-existing object member 'datatype'",
    ],
    [
      "an input without a shape",
      "fp32",
      { inputs: [{ name: "INPUT0", datatype: "FP32", data: [1] }] },
      500,
      "Unable to parse 'shape': attempt to access non-existing object member 'shape'",
    ],
    [
      "a negative dimension",
      "fp32",
      one("FP32", [-1], [1]),
      500,
      "Unable to parse 'shape': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ],
    [
      "a fraction of a dimension",
      "fp32",
      one("FP32", [1.5], [1]),
      500,
      "Unable to parse 'shape': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ],
    [
      "too many elements for any machine",
      "open",
      one("INT16", [2n ** 62n, 4], [1]),
      400,
      "shape of input 'INPUT0' causes total element count to exceed maximum size of 9223372036854775807",
    ],
    [
      "too many bytes for any machine",
      "fp32",
      one("FP32", [2n ** 62n], [1]),
      400,
      "byte size overflow for input 'INPUT0'",
    ],
    ["an unknown datatype", "fp32", one("FP31", [1], [1]), 400, "invalid datatype for input INPUT0"],
    [
      "another datatype",
      "fp32",
      one("FP64", [1], [1]),
      400,
      "[request id: <id_unknown>] inference input 'INPUT0' data-type is 'FP64', but model 'fp32' expects 'FP32'",
    ],
    [
      "a datatype of another size",
      "simple",
      { inputs: [input("INPUT0", { datatype: "INT64" }), input("INPUT1")] },
      400,
      "[request id: <id_unknown>] inference input 'INPUT0' data-type is 'INT64', but model 'simple' expects 'INT32'",
    ],
    [
      "another shape",
      "fixed",
      one("FP32", [2, 2], [1, 2, 3, 4]),
      400,
      "[request id: <id_unknown>] unexpected shape for input 'INPUT0' for model 'fixed'. Expected [1,2], got [2,2]. ",
    ],
    [
      "another rank",
      "fixed",
      one("FP32", [2], [1, 2]),
      400,
      "[request id: <id_unknown>] unexpected shape for input 'INPUT0' for model 'fixed'. Expected [1,2], got [2]. ",
    ],
    [
      "no batch dimension",
      "simple",
      { inputs: [input("INPUT0", { shape: [16] }), input("INPUT1", { shape: [16] })] },
      400,
      "[request id: <id_unknown>] inference request batch-size must be <= 8 for 'simple'",
    ],
    [
      "half the elements in a batch",
      "simple",
      { inputs: [input("INPUT0", { shape: [2, 8] }), input("INPUT1", { shape: [2, 8] })] },
      400,
      `[request id: <id_unknown>] unexpected shape for input 'INPUT0' for model 'simple'. Expected [-1,16], got [2,8]. ${NOTE}`,
    ],
    [
      "no shape where there are batches",
      "simple",
      { inputs: [input("INPUT0", { shape: [], data: [1] }), input("INPUT1")] },
      400,
      "[request id: <id_unknown>] input 'INPUT0' has no shape but model requires batch dimension for 'simple'",
    ],
    [
      "batches that differ",
      "simple",
      { inputs: [input("INPUT0", { shape: [2, 8] }), input("INPUT1")] },
      400,
      "[request id: <id_unknown>] input 'INPUT1' batch size does not match other inputs for 'simple'",
    ],
    [
      "a batch of no rows",
      "simple",
      {
        inputs: [
          input("INPUT0", { shape: [0, 16], data: [] }),
          input("INPUT1", { shape: [0, 16], data: [] }),
        ],
      },
      400,
      "[request id: <id_unknown>] input byte size mismatch for input 'INPUT0' for model 'simple'. Expected 64, got 0",
    ],
    [
      "too large a batch",
      "simple",
      {
        inputs: ["INPUT0", "INPUT1"].map((name) => input(name, { shape: [9, 16], data: Array(144).fill(1) })),
      },
      400,
      "[request id: <id_unknown>] inference request batch-size must be <= 8 for 'simple'",
    ],
    [
      "too few elements",
      "fp32",
      one("FP32", [3], [1, 2]),
      500,
      "Unable to parse 'data': Shape does not match true shape of 'data' field",
    ],
    [
      "too many elements",
      "fp32",
      one("FP32", [1], [1, 2]),
      500,
      "Unable to parse 'data': Shape does not match true shape of 'data' field",
    ],
    [
      "too few of many elements",
      "fp32",
      one("FP32", [300], Array(299).fill(0.5)),
      500,
      "Unable to parse 'data': Shape does not match true shape of 'data' field",
    ],
    [
      "a bare number as data",
      "fp32",
      one("FP32", [1], 1),
      500,
      "Unable to parse 'data': attempt to access JSON non-array as array",
    ],
    [
      "a text among the numbers",
      "fp32",
      one("FP32", [2], [1, "2"]),
      500,
      "Unable to parse 'data': attempt to access JSON non-number as double",
    ],
    [
      "a fraction among the integers",
      "simple",
      { inputs: [input("INPUT0", { data: [...SIXTEEN.slice(1), 0.5] }), input("INPUT1")] },
      500,
      "Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer",
    ],
    [
      "a number for a boolean",
      "flag",
      one("BOOL", [1], [1]),
      500,
      "Unable to parse 'data': attempt to access JSON non-boolean as boolean",
    ],
    [
      "a number for a text",
      "texts",
      one("BYTES", [1], [1]),
      500,
      "Unable to parse JSON bytes array: attempt to access JSON non-string as string",
    ],
    [
      "FP16 in JSON",
      "half",
      one("FP16", [2], [1, 2]),
      400,
      "receiving FP16 data via JSON is not supported. Please use the binary data format for input INPUT0",
    ],
    [
      "BF16 in JSON",
      "half",
      one("BF16", [2], [1, 2]),
      400,
      "receiving BF16 data via JSON is not supported. Please use the binary data format for input INPUT0",
    ],
    [
      "no data",
      "fp32",
      { inputs: [{ name: "INPUT0", shape: [1], datatype: "FP32" }] },
      400,
      "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'. But no field is set",
    ],
    [
      "data in three ways",
      "fp32",
      one("FP32", [1], [1], { parameters: { shared_memory_region: "r", binary_data_size: 4 } }),
      400,
      "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'. But set 'data' 'binary_data_size' 'shared_memory_region'",
    ],
    [
      "an output in shared memory and as classes",
      "simple",
      simple({
        outputs: [{ name: "OUTPUT0", parameters: { shared_memory_region: "r", classification: 1 } }],
      }),
      400,
      "Output can't set both 'shared_memory_region' and 'classification'",
    ],
    [
      "an output in shared memory and binary",
      "simple",
      simple({
        outputs: [{ name: "OUTPUT0", parameters: { shared_memory_region: "r", binary_data: true } }],
      }),
      400,
      "Output can't set both 'shared_memory_region' and 'binary_data'",
    ],
    [
      "an output in unknown shared memory",
      "simple",
      simple({ outputs: [{ name: "OUTPUT0", parameters: { shared_memory_region: "r" } }] }),
      404,
      "Unable to find shared memory region: 'r'",
    ],
    [
      "an id that is no text",
      "simple",
      simple({ id: 5 }),
      500,
      "Unable to parse 'id': attempt to access JSON non-string as string",
    ],
    ["an unknown model", "nobody", simple(), 404, "Request for unknown model: 'nobody' is not found"],
  ])("with %s is refused", async (_name, model, body, status, error) => {
    const { post, bench } = await startBench();
    expect(outcome(await post(infer(model), body))).toEqual([status, error]);
    expect(bench.backend.executions).toEqual([]);
  });

  it.each([101, 150, 100_000])("nested %d deep is refused", async (depth) => {
    const { post } = await startBench();
    const data = "[".repeat(depth) + "1" + "]".repeat(depth);
    const body = `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1],"data":${data}}]}`;
    expect(outcome(await post(infer("fp32"), body))).toEqual([
      400,
      "JSON nesting depth exceeds maximum allowed limit (100)",
    ]);
  });

  it("nested as deep as is allowed is taken", async () => {
    const { post } = await startBench();
    const data = "[".repeat(100) + "1" + "]".repeat(100);
    const body = `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1],"data":${data}}]}`;
    expect((await post(infer("fp32"), body)).status).toBe(200);
  });

  it.each([
    ["fp32", "FP32", [0]],
    ["open", "INT16", [0, 3]],
    ["texts", "BYTES", [0]],
  ])("of no elements is answered with none by %s", async (model, datatype, shape) => {
    const { post } = await startBench();
    const answer = await post(infer(model), one(datatype, shape, []));
    expect(answer.json).toMatchObject({ outputs: [{ shape, data: [] }] });
  });
});

describe("binary tensors", () => {
  const length = (text: string): HeaderList => [["inference-header-content-length", text]];
  const json = (inputs: readonly JsonValue[], more: JsonObject = {}): Uint8Array =>
    encodeJson({ inputs, ...more });
  const binary = (size: JsonValue, name = "INPUT0", datatype = "FP32"): JsonObject => ({
    name,
    shape: [1],
    datatype,
    parameters: { binary_data_size: size },
  });
  const joined = (...parts: readonly Uint8Array[]): Uint8Array =>
    Uint8Array.from(parts.flatMap((part) => [...part]));

  it("go in and out, beside JSON", async () => {
    const { post } = await startBench();
    const head = json(
      [
        input("INPUT0"),
        { name: "INPUT1", shape: [1, 16], datatype: "INT32", parameters: { binary_data_size: 64 } },
      ],
      {
        outputs: [{ name: "OUTPUT1", parameters: { binary_data: true } }, { name: "OUTPUT0" }],
      },
    );
    const blob = new Uint8Array(Int32Array.from(SIXTEEN, (value) => -value).buffer);
    const answer = await post(infer("simple"), joined(head, blob), length(String(head.length)));
    expect(answer.header("content-type")).toBe("application/octet-stream");
    const headerLength = Number(answer.header("inference-header-content-length"));
    expect(new TextDecoder().decode(answer.bytes.subarray(0, headerLength))).toBe(
      '{"model_name":"simple","model_version":"1","outputs":[' +
        '{"name":"OUTPUT1","datatype":"INT32","shape":[1,16],"parameters":{"binary_data_size":64}},' +
        `{"name":"OUTPUT0","datatype":"INT32","shape":[1,16],"data":[${SIXTEEN.map((value) => 0 - value).join(",")}]}]}`,
    );
    // The backend gives the first output that is asked for the first input.
    expect(answer.bytes.subarray(headerLength)).toEqual(new Uint8Array(Int32Array.from(SIXTEEN).buffer));
  });

  it.each<[string, Uint8Array, string | undefined, number, string]>([
    [
      "without the header",
      joined(json([binary(4)])),
      undefined,
      400,
      "must specify valid 'Infer-Header-Content-Length' in request header and 'binary_data_size' when passing inputs in binary data format",
    ],
    [
      "too short",
      joined(json([binary(4)]), Uint8Array.of(1, 2)),
      "-2",
      400,
      "unexpected size for input 'INPUT0', expecting 2 additional bytes for model 'fp32'",
    ],
    [
      "too long",
      joined(json([binary(4)]), new Uint8Array(5)),
      "-5",
      400,
      "unexpected additional input data for model 'fp32'",
    ],
    [
      "of another size than the shape says",
      joined(json([binary(8)]), new Uint8Array(8)),
      "-8",
      400,
      "[request id: <id_unknown>] input byte size mismatch for input 'INPUT0' for model 'fp32'. Expected 4, got 8",
    ],
    [
      "of negative size",
      json([binary(-4)]),
      undefined,
      500,
      "Unable to parse 'binary_data_size': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ],
    [
      "with a length that is no number",
      json([binary(4)]),
      "many",
      400,
      "Unable to parse Inference-Header-Content-Length, got: many",
    ],
  ])("%s are refused", async (_name, body, header, status, error) => {
    const { post } = await startBench();
    // A negative header counts from the end of the body.
    const text = header?.startsWith("-") === true ? String(body.length + Number(header)) : header;
    expect(outcome(await post(infer("fp32"), body, text === undefined ? [] : length(text)))).toEqual([
      status,
      error,
    ]);
  });

  it.each(["-1", "1000000"])("are not where a header of %s bytes is", async (text) => {
    const { post } = await startBench();
    const body = json([binary(0)]);
    expect(outcome(await post(infer("fp32"), body, length(text)))).toEqual([
      400,
      `inference header size should be in range (0, ${String(body.length)}), got: ${text}`,
    ]);
  });

  it("of FP16 go both ways, and only so", async () => {
    const { post } = await startBench();
    const head = json(
      [{ name: "INPUT0", shape: [2], datatype: "FP16", parameters: { binary_data_size: 4 } }],
      {
        parameters: { binary_data_output: true },
      },
    );
    const blob = Uint8Array.of(0, 60, 0, 64);
    const answer = await post(infer("half"), joined(head, blob), length(String(head.length)));
    expect(answer.bytes.subarray(-4)).toEqual(blob);
    const plain = json([
      { name: "INPUT0", shape: [2], datatype: "FP16", parameters: { binary_data_size: 4 } },
    ]);
    expect(outcome(await post(infer("half"), joined(plain, blob), length(String(plain.length))))).toEqual([
      400,
      "sending FP16 data via JSON is not supported. Please use the binary data format for output OUTPUT0",
    ]);
  });

  it.each<[string, Uint8Array, string]>([
    [
      "cut in its length",
      Uint8Array.of(1, 0),
      "[request id: <id_unknown>] incomplete string length indicator for inference input 'INPUT0' for model 'texts', expecting 4 bytes but only 2 bytes available. Please make sure the string length indicator is in one buffer.",
    ],
    [
      "cut in its text",
      Uint8Array.of(9, 0, 0, 0, 65),
      "incomplete string data for inference input 'INPUT0', expecting string of length 9 but only 1 bytes available",
    ],
    [
      "without its text",
      new Uint8Array(0),
      "[request id: <id_unknown>] expected 1 string elements for inference input 'INPUT0' for model 'texts', got 0",
    ],
    [
      "with a second text",
      encodeBytesElements(["a", "b"]),
      "[request id: <id_unknown>] unexpected number of string elements 2 for inference input 'INPUT0' for model 'texts', expecting 1",
    ],
  ])("of strings, %s", async (_name, blob, error) => {
    const { post } = await startBench();
    const head = json([binary(blob.length, "INPUT0", "BYTES")]);
    expect(outcome(await post(infer("texts"), joined(head, blob), length(String(head.length))))).toEqual([
      400,
      error,
    ]);
  });
});

describe("raw binary requests", () => {
  const RAW: HeaderList = [["inference-header-content-length", "0"]];

  it.each<[string, Uint8Array, readonly number[]]>([
    ["fp32", new Uint8Array(12), [3]],
    ["fp32", new Uint8Array(0), [0]],
    ["fixed", new Uint8Array(8), [1, 2]],
    ["text", new TextEncoder().encode("hello"), [1, 1]],
    ["text", new Uint8Array(0), [1, 1]],
  ])("give %s the only input", async (model, body, shape) => {
    const { post, bench } = await startBench();
    const answer = await post(infer(model), body, RAW);
    expect(answer.status).toBe(200);
    expect(bench.backend.executions[0]?.requests[0]?.inputs[0]?.shape).toEqual(shape);
    const sent = model === "text" ? encodeBytesElements([body]) : body;
    expect(answer.bytes.subarray(answer.bytes.length - sent.length)).toEqual(sent);
  });

  it.each<[string, Uint8Array, string]>([
    [
      "simple",
      new Uint8Array(64),
      "[request id: <id_unknown>] Raw request must only have 1 input (found 1) to be deduced but got 2 inputs in 'simple' model configuration",
    ],
    [
      "texts",
      new Uint8Array(4),
      "[request id: <id_unknown>] For BYTE datatype raw input 'INPUT0', the model must have input shape [1]",
    ],
    [
      "open",
      new Uint8Array(4),
      "[request id: <id_unknown>] The shape of the raw input 'INPUT0' can not be deduced because there are more than one variable-sized dimension",
    ],
    [
      "fixed",
      new Uint8Array(12),
      "[request id: <id_unknown>] input byte size mismatch for input 'raw_input' for model 'fixed'. Expected 8, got 12",
    ],
    [
      "fp32",
      new Uint8Array(5),
      "[request id: <id_unknown>] input byte size mismatch for input 'raw_input' for model 'fp32'. Expected 4, got 5",
    ],
  ])("to %s are refused where the input does not follow", async (model, body, error) => {
    const { post } = await startBench();
    expect(outcome(await post(infer(model), body, RAW))).toEqual([400, error]);
  });

  it("have a limit", async () => {
    const { post } = await createHttpBench({ models: MODELS, http: { maxInputSize: 10 } });
    expect(outcome(await post(infer("fp32"), new Uint8Array(12), RAW))).toEqual([
      400,
      "Raw input has a byte_size (12 bytes) that exceeds the maximum allowed value of 10 bytes. Use --http-max-input-size to increase the limit.",
    ]);
  });
});
