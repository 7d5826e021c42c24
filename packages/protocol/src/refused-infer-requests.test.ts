import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Body } from "../test/infer-bodies.ts";
import { decode, utf8, withData, withInput, withParameters } from "../test/infer-bodies.ts";
import { decodeInferRequest } from "./decode-infer-request.ts";
import { InferenceError } from "./status.ts";

function failure(body: Body): readonly [string, string] {
  try {
    decode(body);
  } catch (thrown) {
    if (thrown instanceof InferenceError) return [thrown.code, thrown.message];
    throw thrown;
  }
  throw new Error("nothing was thrown");
}
const withOutputs = (outputs: string): string => `{"inputs":[],"outputs":${outputs}}`;

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
