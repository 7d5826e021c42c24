import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DecodedInferRequest, decodeInferRequest } from "./decode-infer-request.ts";
import { bytesOf, decodeStringElements, typedElements } from "./elements.ts";
import { InferenceError } from "./status.ts";
import type { Tensor } from "./tensor.ts";

const utf8 = new TextEncoder();

interface Body {
  readonly json: string;
  readonly binary?: readonly number[];
  readonly maxInputSize?: number;
}

function decode({ json, binary = [], maxInputSize = 1 << 20 }: Body): DecodedInferRequest {
  const header = utf8.encode(json);
  const body = new Uint8Array([...header, ...binary]);
  return decodeInferRequest({
    modelName: "m",
    modelVersion: "3",
    body,
    headerLength: header.length,
    maxInputSize,
  });
}

function failure(body: Body): readonly [string, string] {
  try {
    decode(body);
  } catch (thrown) {
    if (thrown instanceof InferenceError) return [thrown.code, thrown.message];
    throw thrown;
  }
  throw new Error("nothing was thrown");
}

function bytes(tensor: Tensor | undefined): Uint8Array {
  if (tensor?.kind !== "bytes") throw new Error("no bytes");
  return tensor.bytes;
}

const withInput = (input: string): string => `{"inputs":[${input}]}`;
const withData = (datatype: string, shape: string, data: string): string =>
  withInput(`{"name":"x","shape":${shape},"datatype":"${datatype}","data":${data}}`);
const withParameters = (parameters: string): string => `{"parameters":${parameters},"inputs":[]}`;
const withOutputs = (outputs: string): string => `{"inputs":[],"outputs":${outputs}}`;

describe("decodeInferRequest, JSON data", () => {
  it.each<[string, string, string, ArrayBufferView]>([
    ["BOOL", "[3]", "[true,false,true]", Uint8Array.of(1, 0, 1)],
    ["INT8", "[3]", "[-1,127,200]", Int8Array.of(-1, 127, -56)],
    ["INT16", "[2]", "[-2,65535]", Int16Array.of(-2, -1)],
    ["INT32", "[2,2]", "[[1,2],[3,4294967297]]", Int32Array.of(1, 2, 3, 1)],
    [
      "INT64",
      "[3]",
      "[-9223372036854775808,9223372036854775807,-1]",
      BigInt64Array.of(-(2n ** 63n), 2n ** 63n - 1n, -1n),
    ],
    ["UINT8", "[2]", "[255,256]", Uint8Array.of(255, 0)],
    ["UINT16", "[1]", "[65535]", Uint16Array.of(65535)],
    ["UINT32", "[2]", "[4294967295,18446744073709551615]", Uint32Array.of(4294967295, 4294967295)],
    ["UINT64", "[2]", "[18446744073709551615,0]", BigUint64Array.of(2n ** 64n - 1n, 0n)],
    [
      "FP32",
      "[4]",
      "[0.1,NaN,-Inf,18446744073709551615]",
      Float32Array.of(0.1, NaN, -Infinity, 18446744073709551615),
    ],
    ["FP64", "[2]", "[1,[1e300]]", Float64Array.of(1, 1e300)],
    ["FP32", "[2,0]", "[1,2,3]", new Uint8Array(0)],
    ["FP32", "[]", "[7]", new Uint8Array(0)],
    ["FP16", "[0]", "[]", new Uint8Array(0)],
  ])("%s %s %s", (datatype, shape, data, expected) => {
    const [input] = decode({ json: withData(datatype, shape, data) }).request.inputs;
    expect(input).toMatchObject({ name: "x", datatype, shape: JSON.parse(shape) as unknown });
    expect(bytes(input)).toEqual(bytesOf(expected));
  });

  it("keeps strings as UTF-8 whatever the shape says", () => {
    const [input] = decode({ json: withData("BYTES", "[2]", '["ä",["","\\u0000\\ud83d\\ude00"]]') }).request
      .inputs;
    expect(decodeStringElements(bytes(input), "x")).toEqual(["ä", "", "\0\u{1f600}"]);
  });

  it.each(["INT8", "INT32", "INT64", "UINT16", "UINT64", "FP32", "FP64"] as const)(
    "reads a long %s array as it reads a short one",
    (datatype) => {
      const numbers = Array.from({ length: 100 }, (_, index) => index * 50_000_000_000);
      const long = decode({ json: withData(datatype, "[100]", JSON.stringify(numbers)) }).request.inputs;
      const nested = decode({ json: withData(datatype, "[100]", JSON.stringify([numbers])) }).request.inputs;
      const short = numbers.map((value) => {
        const [input] = decode({ json: withData(datatype, "[1]", `[${String(value)}]`) }).request.inputs;
        return typedElements(datatype, bytes(input))[0];
      });
      expect(Array.from<unknown>(typedElements(datatype, bytes(long[0])))).toEqual(short);
      expect(bytes(nested[0])).toEqual(bytes(long[0]));
    },
  );
});

describe("decodeInferRequest, sizes that a number cannot hold", () => {
  it("are kept exactly beside the rounded shape", () => {
    const vast = decode({ json: withData("FP32", "[0,9223372036854775807]", "[]") }).request.inputs[0];
    expect(vast).toMatchObject({ exactShape: [0n, 9223372036854775807n] });
    expect(bytes(vast)).toEqual(new Uint8Array(0));
    const texts = decode({ json: withData("BYTES", "[9007199254740993]", '["a"]') }).request.inputs[0];
    expect(texts).toMatchObject({ exactShape: [9007199254740993n] });
    const usual = decode({ json: withData("FP32", "[0,9007199254740991]", "[]") }).request.inputs[0];
    expect(usual).toMatchObject({ shape: [0, 9007199254740991] });
    expect(usual).not.toHaveProperty("exactShape");
  });
});

describe("decodeInferRequest, binary data", () => {
  it("views the body and mixes with JSON", () => {
    const { request } = decode({
      json: `{"inputs":[
        {"name":"a","shape":[2],"datatype":"UINT8","parameters":{"binary_data_size":2}},
        {"name":"b","shape":[1],"datatype":"INT32","data":[5]},
        {"name":"c","shape":[0],"datatype":"FP16","parameters":{"binary_data_size":0}},
        {"name":"d","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":5}}]}`,
      binary: [7, 8, 1, 0, 0, 0, 0x61],
    });
    const [a, b, c, d] = request.inputs.map(bytes);
    expect(a).toEqual(Uint8Array.of(7, 8));
    expect(b).toEqual(Uint8Array.of(5, 0, 0, 0));
    expect(c).toEqual(new Uint8Array(0));
    expect(d).toEqual(Uint8Array.of(1, 0, 0, 0, 0x61));
    expect(a?.buffer).toBe(d?.buffer);
  });
});

describe("decodeInferRequest, id, parameters and outputs", () => {
  it("reads what there is", () => {
    const { request, format } = decode({
      json: `{"id":"7","parameters":{"sequence_id":18446744073709551615,"sequence_start":true,"sequence_end":false,
        "priority":2,"timeout":1000,"binary_data_output":true,
        "s":"x","i":-5,"big":9223372036854775807,"b":false,"d":1.0,"huge":18446744073709551615},
        "inputs":[],"outputs":[{"name":"p"},{"name":"q","parameters":{"binary_data":true}},
        {"name":"r","parameters":{"classification":3,"binary_data":false}}]}`,
    });
    expect(request).toEqual({
      modelName: "m",
      modelVersion: "3",
      id: "7",
      parameters: {
        s: "x",
        i: -5n,
        big: 2n ** 63n - 1n,
        b: false,
        d: 1,
        huge: 2 ** 64,
      },
      sequence: { id: 2n ** 64n - 1n, start: true, end: false },
      priority: 2,
      timeoutUs: 1000,
      inputs: [],
      outputs: [{ name: "p" }, { name: "q" }, { name: "r", classCount: 3 }],
    });
    expect(format.default).toBe("binary");
    expect([...format.byName]).toEqual([
      ["p", "json"],
      ["q", "binary"],
      ["r", "json"],
    ]);
  });

  it("leaves out what says nothing", () => {
    const { request, format } = decode({
      json: withParameters('{"sequence_id":0,"priority":0,"timeout":0}'),
    });
    expect(request).toEqual({
      modelName: "m",
      modelVersion: "3",
      id: "",
      parameters: {},
      inputs: [],
      outputs: [],
    });
    expect(format.default).toBe("json");
  });

  it("takes a string for a sequence id", () => {
    expect(decode({ json: withParameters('{"sequence_id":"abc"}') }).request.sequence).toEqual({
      id: "abc",
      start: false,
      end: false,
    });
  });
});

const INTERNAL = "INTERNAL";
const INVALID = "INVALID_ARG";
const NON_STRING = "attempt to access JSON non-string as string";
const NON_UNSIGNED = "attempt to access JSON non-unsigned-integer as unsigned-integer";
const NON_BOOLEAN = "attempt to access JSON non-boolean as boolean";
const MISSING = (name: string): string => `attempt to access non-existing object member '${name}'`;
const ONE_SOURCE =
  "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' " +
  "in 'parameters'. But ";
const SHAPE = "Unable to parse 'data': Shape does not match true shape of 'data' field";
const LIMIT = "Use --http-max-input-size to increase the limit.";

describe("decodeInferRequest, errors", () => {
  it.each<[Body, string, string]>([
    [
      { json: "{" },
      INTERNAL,
      "failed to parse the request JSON buffer: Missing a name for object member. at 1",
    ],
    [
      { json: '{"inputs":[]}', maxInputSize: 12 },
      INVALID,
      `request JSON size of 13 bytes exceeds the maximum allowed input size of 12 bytes. ${LIMIT}`,
    ],
    [{ json: '{"id":5,"parameters":3}' }, INTERNAL, `Unable to parse 'id': ${NON_STRING}`],
    [
      { json: '{"parameters":3}' },
      INTERNAL,
      "failed to get request params.: attempt to get members for non-object",
    ],
    [{ json: "{}" }, INTERNAL, `Unable to parse 'inputs': ${MISSING("inputs")}`],
    [{ json: "[]" }, INTERNAL, `Unable to parse 'inputs': ${MISSING("inputs")}`],
    [
      { json: '{"inputs":{}}' },
      INTERNAL,
      "Unable to parse 'inputs': attempt to access JSON non-array as array",
    ],
    // Parameters.
    [
      { json: withParameters('{"sequence_id":-1}') },
      INTERNAL,
      `Unable to parse 'sequence_id': ${NON_STRING}`,
    ],
    [
      { json: withParameters(`{"sequence_id":"${"ä".repeat(65)}"}`) },
      INVALID,
      "string correlation ID cannot be longer than 128 bytes",
    ],
    [
      { json: withParameters('{"sequence_start":1}') },
      INTERNAL,
      `Unable to parse 'sequence_start': ${NON_BOOLEAN}`,
    ],
    [
      { json: withParameters('{"sequence_end":"x"}') },
      INTERNAL,
      `Unable to parse 'sequence_end': ${NON_BOOLEAN}`,
    ],
    [{ json: withParameters('{"priority":-1}') }, INTERNAL, `Unable to parse 'priority': ${NON_UNSIGNED}`],
    [{ json: withParameters('{"timeout":1.0}') }, INTERNAL, `Unable to parse 'timeout': ${NON_UNSIGNED}`],
    [
      { json: withParameters('{"binary_data_output":null}') },
      INTERNAL,
      `Unable to parse 'binary_data_output': ${NON_BOOLEAN}`,
    ],
    [
      { json: withParameters('{"triton_x":1}') },
      INVALID,
      "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.",
    ],
    [
      { json: withParameters('{"k":[1]}') },
      INVALID,
      "parameter 'k' has invalid type. It should be either 'int', 'bool', or 'string'.",
    ],
    // Inputs.
    [{ json: withInput("5") }, INVALID, `${ONE_SOURCE}no field is set`],
    [{ json: withInput('{"name":"x"}') }, INVALID, `${ONE_SOURCE}no field is set`],
    [
      {
        json: withInput('{"data":[],"parameters":{"binary_data_size":1,"shared_memory_region":"r"}}'),
      },
      INVALID,
      `${ONE_SOURCE}set 'data' 'binary_data_size' 'shared_memory_region'`,
    ],
    [{ json: withInput('{"data":[]}') }, INTERNAL, `Unable to parse 'name': ${MISSING("name")}`],
    [{ json: withInput('{"name":1,"data":[]}') }, INTERNAL, `Unable to parse 'name': ${NON_STRING}`],
    [
      { json: withInput('{"name":"x","data":[]}') },
      INTERNAL,
      `Unable to parse 'datatype': ${MISSING("datatype")}`,
    ],
    [
      { json: withInput('{"name":"x","datatype":"FP32","data":[]}') },
      INTERNAL,
      `Unable to parse 'shape': ${MISSING("shape")}`,
    ],
    [{ json: withData("FP32", "[-1]", "[]") }, INTERNAL, `Unable to parse 'shape': ${NON_UNSIGNED}`],
    [{ json: withData("FP32", "[1.0]", "[]") }, INTERNAL, `Unable to parse 'shape': ${NON_UNSIGNED}`],
    [
      { json: withData("FP32", "[4294967296,4294967296]", "[1.0]") },
      INVALID,
      "shape of input 'x' causes total element count to exceed maximum size of 9223372036854775807",
    ],
    [
      { json: withData("FP32", "[2305843009213693954]", "[1.0]") },
      INVALID,
      "byte size overflow for input 'x'",
    ],
    [
      { json: withData("FP32", "[9007199254740993]", "[1.0]") },
      INVALID,
      "JSON input 'x' has a byte_size (36028797018963972 bytes) that exceeds the maximum allowed value of 1048576 bytes. " +
        "Use --http-max-input-size to increase the limit.",
    ],
    [
      {
        json: `{"id":"7","inputs":[{"name":"x","shape":[0],"datatype":"FP32","data":[]},{"name":"x","shape":[0],"datatype":"FP32","data":[]}]}`,
      },
      INVALID,
      "[request id: 7] input 'x' already exists in request",
    ],
    [{ json: withData("STRING", "[1]", '["a"]') }, INVALID, "invalid datatype for input x"],
    [
      { json: withInput('{"name":"x","shape":[1],"datatype":"FP32","data":5}') },
      INTERNAL,
      "Unable to parse 'data': attempt to access JSON non-array as array",
    ],
    [
      {
        json: withInput(
          '{"name":"x","shape":[1],"datatype":"FP32","parameters":{"shared_memory_region":"r"}}',
        ),
      },
      "NOT_FOUND",
      "Unable to find shared memory region: 'r'",
    ],
    // Data.
    [{ json: withData("INT32", "[2]", "[1]") }, INTERNAL, SHAPE],
    [{ json: withData("INT32", "[1]", "[1,2]") }, INTERNAL, SHAPE],
    [{ json: withData("FP32", "[3]", `[${"1.5,".repeat(50)}1.5]`) }, INTERNAL, SHAPE],
    [{ json: withData("BOOL", "[1]", "[1]") }, INTERNAL, `Unable to parse 'data': ${NON_BOOLEAN}`],
    [
      { json: withData("INT8", "[1]", "[1.0]") },
      INTERNAL,
      "Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer",
    ],
    [
      { json: withData("INT32", "[51]", `[${"1,".repeat(50)}1.0]`) },
      INTERNAL,
      "Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer",
    ],
    [
      { json: withData("INT64", "[1]", "[9223372036854775808]") },
      INTERNAL,
      "Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer",
    ],
    [{ json: withData("UINT8", "[1]", "[-1]") }, INTERNAL, `Unable to parse 'data': ${NON_UNSIGNED}`],
    [
      { json: withData("UINT32", "[51]", `[${"1,".repeat(50)}-1]`) },
      INTERNAL,
      `Unable to parse 'data': ${NON_UNSIGNED}`,
    ],
    [
      { json: withData("FP32", "[1]", '["1"]') },
      INTERNAL,
      "Unable to parse 'data': attempt to access JSON non-number as double",
    ],
    [{ json: withData("BYTES", "[1]", "[1]") }, INTERNAL, `Unable to parse JSON bytes array: ${NON_STRING}`],
    [
      { json: withData("FP16", "[1]", "[1]") },
      INVALID,
      "receiving FP16 data via JSON is not supported. Please use the binary data format for input x",
    ],
    [
      { json: withData("BF16", "[1]", "[1]") },
      INVALID,
      "receiving BF16 data via JSON is not supported. Please use the binary data format for input x",
    ],
    [
      { json: withData("FP64", "[1000]", "[1]"), maxInputSize: 7999 },
      INVALID,
      `JSON input 'x' has a byte_size (8000 bytes) that exceeds the maximum allowed value of 7999 bytes. ${LIMIT}`,
    ],
    [
      { json: withData("FP32", "[1]", `${"[".repeat(101)}1${"]".repeat(101)}`) },
      INVALID,
      "JSON nesting depth exceeds maximum allowed limit (100)",
    ],
    // Binary.
    [
      {
        json: withInput('{"name":"x","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":"4"}}'),
        binary: [0, 0, 0, 0],
      },
      INTERNAL,
      `Unable to parse 'binary_data_size': ${NON_UNSIGNED}`,
    ],
    [
      { json: withInput('{"name":"x","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}}') },
      INVALID,
      "must specify valid 'Infer-Header-Content-Length' in request header and 'binary_data_size' when passing inputs in " +
        "binary data format",
    ],
    [
      {
        json: withInput('{"name":"x","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}}'),
        binary: [0],
      },
      INVALID,
      "unexpected size for input 'x', expecting 3 additional bytes for model 'm'",
    ],
    ...[
      ["9007199254740993", "9007199254740992"],
      ["9223372036854775808", "9223372036854775807"],
      ["18446744073709551615", "18446744073709551614"],
    ].map(([size = "", missing = ""]): [Body, string, string] => [
      {
        json: withInput(
          `{"name":"x","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":${size}}}`,
        ),
        binary: [0],
      },
      INVALID,
      `unexpected size for input 'x', expecting ${missing} additional bytes for model 'm'`,
    ]),
    [
      {
        json: withInput('{"name":"x","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}}'),
        binary: [0, 0, 0, 0, 0],
      },
      INVALID,
      "unexpected additional input data for model 'm'",
    ],
    // Outputs.
    [
      { json: withOutputs("{}") },
      INTERNAL,
      "Unable to parse 'outputs': attempt to access JSON non-array as array",
    ],
    [{ json: withOutputs("[{}]") }, INTERNAL, `Unable to parse 'name': ${MISSING("name")}`],
    [
      { json: withOutputs('[{"name":"y"},{"name":"y"}]') },
      INVALID,
      "[request id: <id_unknown>] output 'y' already exists in request",
    ],
    [
      { json: withOutputs('[{"name":"y","parameters":{"classification":-1}}]') },
      INTERNAL,
      `Unable to set 'classification': ${NON_UNSIGNED}`,
    ],
    [
      { json: withOutputs('[{"name":"y","parameters":{"binary_data":1}}]') },
      INTERNAL,
      `Unable to parse 'binary_data': ${NON_BOOLEAN}`,
    ],
    [
      { json: withOutputs('[{"parameters":{"shared_memory_region":"r","classification":1}}]') },
      INVALID,
      "Output can't set both 'shared_memory_region' and 'classification'",
    ],
    [
      { json: withOutputs('[{"parameters":{"shared_memory_region":"r","binary_data":true}}]') },
      INVALID,
      "Output can't set both 'shared_memory_region' and 'binary_data'",
    ],
    [
      { json: withOutputs('[{"name":"y","parameters":{"shared_memory_region":"r"}}]') },
      "NOT_FOUND",
      "Unable to find shared memory region: 'r'",
    ],
  ])("%j", (body, code, message) => {
    expect(failure(body)).toEqual([code, message]);
  });

  it("never throws anything but an InferenceError, wherever the body is cut or damaged", () => {
    const header = utf8.encode(
      `{"id":"ä","parameters":{"sequence_id":5,"k":1.5},"inputs":[{"name":"a","shape":[2],"datatype":"UINT8","parameters":{"binary_data_size":2}},
      {"name":"b","shape":[2,30],"datatype":"FP32","data":[${"0.5,".repeat(59)}NaN]},
      {"name":"c","shape":[0],"datatype":"INT64","data":[]},
      {"name":"d","shape":[1,2],"datatype":"BYTES","data":["x","\\u00e4"]}],"outputs":[{"name":"y","parameters":{"binary_data":true}}]}`,
    );
    const whole = new Uint8Array([...header, 1, 2]);
    fc.assert(
      fc.property(
        fc.nat({ max: whole.length }),
        fc.nat({ max: whole.length }),
        fc.array(fc.tuple(fc.nat({ max: whole.length - 1 }), fc.nat({ max: 255 })), { maxLength: 3 }),
        (length, headerLength, damage) => {
          const body = whole.slice(0, length);
          for (const [at, value] of damage) if (at < length) body[at] = value;
          try {
            decodeInferRequest({
              modelName: "m",
              modelVersion: "",
              body,
              headerLength: Math.min(headerLength, length),
              maxInputSize: 100_000,
            });
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(InferenceError);
          }
        },
      ),
      { seed: 3, numRuns: 3000 },
    );
  });
});
