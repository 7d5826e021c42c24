import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { Datatype, InferenceRequest } from "@naiad/protocol";
import { decodeBytesElements, typedElements } from "@naiad/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bool, double, int64, parameter, string, uint64 } from "../test/infer-messages.ts";
import { type InferTensorContentsSchema, ModelInferRequestSchema } from "./gen/grpc_service_pb.ts";
import { readInferRequest } from "./read-infer-request.ts";

type Init = MessageInitShape<typeof ModelInferRequestSchema>;
type Contents = MessageInitShape<typeof InferTensorContentsSchema>;

function read(init: Init): InferenceRequest {
  return readInferRequest(create(ModelInferRequestSchema, init)).request;
}

function faultOf(init: Init): string {
  try {
    read({ modelName: "m", ...init });
  } catch (thrown) {
    return String(thrown).replace("InferenceError: ", "");
  }
  return "none";
}

function contentOf(datatype: Datatype, contents: Contents): Uint8Array {
  const [input] = read({ inputs: [{ name: "x", datatype, shape: [1n], contents }] }).inputs;
  if (input?.kind !== "bytes") throw new Error("there is no input");
  return input.bytes;
}

describe("the content of inputs", () => {
  const int8 = fc.array(fc.integer({ min: -128, max: 127 }));
  const int16 = fc.array(fc.integer({ min: -32768, max: 32767 }));
  const uint8 = fc.array(fc.integer({ min: 0, max: 255 }));
  const uint16 = fc.array(fc.integer({ min: 0, max: 65535 }));
  const cases: readonly [Exclude<Datatype, "BYTES" | "FP16" | "BF16" | "BOOL">, fc.Arbitrary<Contents>][] = [
    ["INT8", int8.map((intContents) => ({ intContents }))],
    ["INT16", int16.map((intContents) => ({ intContents }))],
    ["INT32", fc.array(fc.integer()).map((intContents) => ({ intContents }))],
    [
      "INT64",
      fc
        .array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }))
        .map((int64Contents) => ({ int64Contents })),
    ],
    ["UINT8", uint8.map((uintContents) => ({ uintContents }))],
    ["UINT16", uint16.map((uintContents) => ({ uintContents }))],
    ["UINT32", fc.array(fc.integer({ min: 0, max: 2 ** 32 - 1 })).map((uintContents) => ({ uintContents }))],
    [
      "UINT64",
      fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })).map((uint64Contents) => ({ uint64Contents })),
    ],
    ["FP32", fc.array(fc.float()).map((fp32Contents) => ({ fp32Contents }))],
    ["FP64", fc.array(fc.double()).map((fp64Contents) => ({ fp64Contents }))],
  ];

  it.each(cases)("is that of the typed elements: %s", (datatype, arbitrary) => {
    fc.assert(
      fc.property(arbitrary, (contents) => {
        const [elements] = Object.values(contents);
        expect([...typedElements(datatype, contentOf(datatype, contents))]).toEqual(elements);
      }),
      { seed: 6, numRuns: 50 },
    );
  });

  it("is that of truth values and of strings of bytes", () => {
    expect(contentOf("BOOL", { boolContents: [true, false, true] })).toEqual(Uint8Array.of(1, 0, 1));
    fc.assert(
      fc.property(fc.array(fc.uint8Array()), (bytesContents) => {
        expect(decodeBytesElements(contentOf("BYTES", { bytesContents }), "x")).toEqual(bytesContents);
      }),
      { seed: 6, numRuns: 50 },
    );
  });

  it("keeps the lowest bytes of an integer that is too large", () => {
    expect(contentOf("INT8", { intContents: [300] })).toEqual(Uint8Array.of(44));
    expect(contentOf("UINT16", { uintContents: [65537] })).toEqual(Uint8Array.of(1, 0));
  });

  it("is empty where there are no elements", () => {
    expect(contentOf("FP16", {})).toEqual(new Uint8Array(0));
  });

  it("is raw in the order of the inputs, and not copied", () => {
    const rawInputContents = [Uint8Array.of(1), Uint8Array.of(2, 3)];
    const { inputs } = read({
      inputs: [
        { name: "a", datatype: "UINT8", shape: [1n] },
        { name: "b", datatype: "BF16", shape: [1n] },
      ],
      rawInputContents,
    });
    expect(inputs).toEqual([
      { kind: "bytes", name: "a", datatype: "UINT8", shape: [1], bytes: rawInputContents[0] },
      { kind: "bytes", name: "b", datatype: "BF16", shape: [1], bytes: rawInputContents[1] },
    ]);
    expect(inputs.map((input) => input.kind === "bytes" && input.bytes)).toEqual(rawInputContents);
  });
});

describe("parameters", () => {
  it("keep their types", () => {
    const { parameters } = read({
      parameters: { a: string("s"), b: bool(false), c: int64(2n ** 60n), d: double(1) },
    });
    expect(parameters).toEqual({ a: "s", b: false, c: 2n ** 60n, d: 1 });
  });

  it.each<[string, Init["parameters"], Partial<InferenceRequest>]>([
    ["a number", { sequence_id: int64(7n) }, { sequence: { id: 7n, start: false, end: false } }],
    [
      "a text",
      { sequence_id: string("s"), sequence_end: bool(true) },
      { sequence: { id: "s", start: false, end: true } },
    ],
    ["none but a flag", { sequence_start: bool(true) }, { sequence: { id: 0n, start: true, end: false } }],
    ["no sequence", { sequence_id: int64(0n), sequence_start: bool(false) }, {}],
    ["a priority", { priority: uint64(2n) }, { priority: 2 }],
    ["no priority", { priority: int64(0n), timeout: int64(0n) }, {}],
    ["a timeout", { timeout: int64(1500n) }, { timeoutUs: 1500 }],
  ])("mean %s", (_, parameters = {}, expected) => {
    expect(read({ parameters })).toEqual({
      modelName: "",
      modelVersion: "",
      id: "",
      parameters: {},
      inputs: [],
      outputs: [],
      ...expected,
    });
  });

  it("ask for the end of a stream", () => {
    const ask = (value: boolean) =>
      readInferRequest(
        create(ModelInferRequestSchema, { parameters: { triton_enable_empty_final_response: bool(value) } }),
      ).emptyFinalResponse;
    expect([ask(true), ask(false)]).toEqual([true, false]);
  });
});

describe("outputs", () => {
  it("are asked for as they are or as classes", () => {
    const outputs = [
      { name: "a" },
      { name: "b", parameters: { classification: int64(3n), other: bool(true) } },
    ];
    expect(read({ outputs }).outputs).toEqual([{ name: "a" }, { name: "b", classCount: 3 }]);
  });
});

describe("Triton's refusals", () => {
  const input = { name: "x", datatype: "FP32", shape: [1n] };
  const raw = [new Uint8Array(4)];
  const INVALID = (name: string, expected: string): string =>
    `invalid value type for '${name}' parameter, expected ${expected}`;
  const explicit = "unexpected explicit tensor data for input tensor 'x' for model 'm'";
  const region = { shared_memory_region: string("r"), shared_memory_byte_size: int64(4n) };

  it.each<[Init, string]>([
    [{ parameters: { sequence_id: bool(true) } }, INVALID("sequence_id", "int64_param or string_param.")],
    [{ parameters: { sequence_id: uint64(1n) } }, INVALID("sequence_id", "int64_param or string_param.")],
    [
      { parameters: { sequence_id: string("x".repeat(129)) } },
      "string correlation ID cannot be longer than 128 bytes",
    ],
    [{ parameters: { sequence_start: int64(1n) } }, INVALID("sequence_start", "bool_param.")],
    [{ parameters: { sequence_end: string("true") } }, INVALID("sequence_end", "bool_param.")],
    [{ parameters: { priority: double(1) } }, INVALID("priority", "int64_param or uint64_param.")],
    [{ parameters: { priority: int64(-1n) } }, "invalid value for 'priority', expected value >= 0."],
    [{ parameters: { timeout: uint64(1n) } }, INVALID("timeout", "int64_param.")],
    [
      { parameters: { triton_enable_empty_final_response: int64(1n) } },
      INVALID("triton_enable_empty_final_response", "bool_param."),
    ],
    [
      { parameters: { triton_other: int64(1n) } },
      "parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with " +
        "'triton_' are allowed: triton_enable_empty_final_response",
    ],
    [{ parameters: { k: uint64(1n) } }, INVALID("k", "int64_param, bool_param, or string_param.")],
    [
      { parameters: { k: parameter({ case: undefined }) } },
      INVALID("k", "int64_param, bool_param, or string_param."),
    ],
    [{ inputs: [input] }, "unable to find data for input tensor 'x' for model 'm' in request."],
    [
      { inputs: [{ ...input, contents: { fp32Contents: [1] } }], rawInputContents: raw },
      "contents field must not be specified when using raw_input_contents for 'x' for model 'm'",
    ],
    [
      { inputs: [{ ...input, contents: { intContents: [1] } }] },
      `${explicit} of type 'INT32', expected datatype 'FP32'`,
    ],
    [
      { inputs: [{ ...input, datatype: "FP16", contents: { fp32Contents: [1] } }] },
      `${explicit} of type 'FP32', expected datatype 'FP16'`,
    ],
    [
      { inputs: [{ ...input, contents: { fp32Contents: [1], fp64Contents: [1] } }] },
      `${explicit}, binary data was already supplied.`,
    ],
    [{ inputs: [{ ...input, datatype: "fp32", contents: {} }] }, "invalid datatype for input x"],
    [
      { inputs: [{ ...input, shape: [2n ** 62n, 4n], contents: {} }] },
      "shape of input 'x' causes total element count to exceed maximum size of 9223372036854775807",
    ],
    [{ inputs: [{ ...input, parameters: region }] }, "Unable to find shared memory region: 'r'"],
    [
      { inputs: [{ ...input, parameters: region, contents: {} }] },
      "unexpected 'content' provided when using shared memory for input tensor 'x' for model 'm'",
    ],
    [
      { inputs: [{ ...input, parameters: { shared_memory_region: string("r") } }] },
      "'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor 'x'",
    ],
    [
      { inputs: [{ ...input, parameters: { shared_memory_offset: int64(0n) } }] },
      "'shared_memory_offset' can not be specified without 'shared_memory_region' parameter for tensor 'x'",
    ],
    [
      { inputs: [{ ...input, parameters: { ...region, shared_memory_offset: string("0") } }] },
      "invalid value type for 'shared_memory_offset' parameter for tensor 'x', expected int64_param.",
    ],
    [
      { inputs: [{ ...input, parameters: { ...region, shared_memory_region: bool(true) } }] },
      "invalid value type for 'shared_memory_region' parameter for tensor 'x', expected string_param.",
    ],
    [{ outputs: [{ name: "y", parameters: region }] }, "Unable to find shared memory region: 'r'"],
    [
      { outputs: [{ name: "y", parameters: { ...region, classification: int64(1n) } }] },
      "output can't set both 'shared_memory_region' and 'classification'",
    ],
    [
      { outputs: [{ name: "y", parameters: { classification: string("1") } }] },
      INVALID("classification", "int64_param"),
    ],
    [
      { outputs: [{ name: "y", parameters: { classification: int64(0n) } }] },
      "invalid value for 'classification' parameter, expected >= 0",
    ],
  ])("%#: %o", (init, expected) => {
    expect(faultOf(init)).toBe(expected);
  });
});
