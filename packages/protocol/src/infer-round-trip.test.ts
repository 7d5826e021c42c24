import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DATATYPES, elementByteSize } from "./datatype.ts";
import { decodeInferRequest } from "./decode-infer-request.ts";
import { decodeInferResponse } from "./decode-infer-response.ts";
import { bytesOf, encodeBytesElements } from "./elements.ts";
import { encodeInferRequest } from "./encode-infer-request.ts";
import { encodeInferResponse } from "./encode-infer-response.ts";
import type { InferenceRequest, InferenceResponse } from "./messages.ts";
import { InferenceError } from "./status.ts";
import { type BytesTensor, elementCount } from "./tensor.ts";
import { allTensors, type TensorTransfer, type TensorTransfers } from "./tensor-transfers.ts";

const shapes = fc.array(fc.nat({ max: 7 }), { maxLength: 3 });

/** Content that survives JSON: no NaN with a payload, BOOL of 0 and 1, BYTES of whole characters. */
function content(datatype: BytesTensor["datatype"], count: number): fc.Arbitrary<Uint8Array> {
  const size = { minLength: count, maxLength: count };
  switch (datatype) {
    case "BYTES":
      return fc.array(fc.string({ unit: "grapheme" }), size).map(encodeBytesElements);
    case "BOOL":
      return fc.uint8Array({ ...size, max: 1 });
    case "FP32":
      return fc.array(fc.float(), size).map((values) => bytesOf(Float32Array.from(values)));
    case "FP64":
      return fc.array(fc.double(), size).map((values) => bytesOf(Float64Array.from(values)));
    default: {
      const byteLength = count * elementByteSize(datatype);
      return fc.uint8Array({ minLength: byteLength, maxLength: byteLength });
    }
  }
}

interface Travelling {
  readonly tensor: BytesTensor;
  readonly transfer: TensorTransfer;
}

const travelling: fc.Arbitrary<Travelling> = fc
  .tuple(fc.constantFrom(...DATATYPES), shapes, fc.constantFrom<TensorTransfer>("json", "binary"))
  .chain(([datatype, shape, transfer]) =>
    content(datatype, elementCount(shape)).map((bytes) => ({
      tensor: { kind: "bytes" as const, name: "", datatype, shape, bytes },
      // What JSON does not carry: half floats, and in requests tensors without dimensions.
      transfer:
        datatype === "FP16" || datatype === "BF16" || shape.length === 0 ? ("binary" as const) : transfer,
    })),
  );

const messages = fc.array(travelling, { maxLength: 4 }).map((list) => ({
  tensors: list.map(({ tensor }, index) => ({ ...tensor, name: `t${String(index)}"ä` })),
  transfers: {
    default: "binary" as const,
    byName: new Map(list.map(({ transfer }, index) => [`t${String(index)}"ä`, transfer] as const)),
  } satisfies TensorTransfers,
}));

const parameters = fc.dictionary(
  fc.stringMatching(/^[a-z]{1,5}$/),
  fc.oneof(
    fc.string(),
    fc.boolean(),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.double({ noNaN: true }),
  ),
  { noNullPrototype: true },
);

/** Tensors in a form that `toEqual` compares by content, wherever the bytes lie. */
function plain(tensors: InferenceRequest["inputs"]): unknown {
  return tensors.map((tensor) => ({
    ...tensor,
    bytes: tensor.kind === "bytes" ? Array.from(tensor.bytes) : undefined,
  }));
}

describe("requests", () => {
  const requests = fc.record({
    modelName: fc.constant("m"),
    modelVersion: fc.constantFrom("", "1"),
    id: fc.string(),
    parameters,
    outputs: fc.uniqueArray(
      fc.record(
        { name: fc.stringMatching(/^[a-z]$/), classCount: fc.integer({ min: 1, max: 9 }) },
        { requiredKeys: ["name"], noNullPrototype: true },
      ),
      { selector: (output) => output.name, maxLength: 3 },
    ),
    special: fc.record(
      {
        sequence: fc.record({
          id: fc.oneof(fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }), fc.constant("abc")),
          start: fc.boolean(),
          end: fc.boolean(),
        }),
        priority: fc.integer({ min: 1, max: 9 }),
        timeoutUs: fc.integer({ min: 1, max: 2 ** 40 }),
      },
      { requiredKeys: [], noNullPrototype: true },
    ),
    default: fc.constantFrom<TensorTransfer>("json", "binary"),
  });

  it("arrive as they were sent", () => {
    fc.assert(
      fc.property(requests, messages, ({ special, default: fallback, ...rest }, { tensors, transfers }) => {
        const request: InferenceRequest = { ...rest, ...special, inputs: tensors };
        const outputs: TensorTransfers = {
          default: fallback,
          byName: new Map(
            request.outputs.map(({ name }, index) => [name, index % 2 === 0 ? "binary" : "json"]),
          ),
        };
        const { body, headerLength } = encodeInferRequest(request, { inputs: transfers, outputs });
        const decoded = decodeInferRequest({
          modelName: request.modelName,
          modelVersion: request.modelVersion,
          body,
          headerLength,
          maxInputSize: 1 << 20,
        });
        expect({ ...decoded.request, inputs: plain(decoded.request.inputs) }).toEqual({
          ...request,
          inputs: plain(request.inputs),
        });
        expect(decoded.format).toEqual(outputs);
      }),
      { seed: 1, numRuns: 300 },
    );
  });

  it.each([
    ["sequence_id", 'Parameter "sequence_id" is a reserved parameter and cannot be specified.'],
    [
      "triton_x",
      "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.",
    ],
  ])("do not leave with a custom parameter %s", (name, message) => {
    const request = {
      modelName: "m",
      modelVersion: "",
      id: "",
      parameters: { [name]: 1n },
      inputs: [],
      outputs: [],
    };
    const format = { inputs: allTensors("binary"), outputs: allTensors("binary") };
    expect(() => encodeInferRequest(request, format)).toThrow(new InferenceError("INVALID_ARG", message));
  });

  it("do not leave with FP16 in JSON", () => {
    const input = {
      kind: "bytes",
      name: "x",
      datatype: "FP16",
      shape: [0],
      bytes: new Uint8Array(0),
    } as const;
    const request = {
      modelName: "m",
      modelVersion: "",
      id: "",
      parameters: {},
      inputs: [input],
      outputs: [],
    };
    const format = { inputs: allTensors("json"), outputs: allTensors("json") };
    expect(() => encodeInferRequest(request, format)).toThrow(
      "FP16 inputs must be sent as binary data over HTTP: input 'x'",
    );
  });
});

describe("responses", () => {
  const responses = fc.record({
    modelName: fc.string(),
    modelVersion: fc.constantFrom("1", "42"),
    id: fc.string(),
    parameters,
  });

  it("arrive as they were sent", () => {
    fc.assert(
      fc.property(responses, messages, (rest, { tensors, transfers }) => {
        const response: InferenceResponse = { ...rest, outputs: tensors };
        const { body, headerLength } = encodeInferResponse(response, transfers);
        const decoded = decodeInferResponse({ body, headerLength });
        expect({ ...decoded, outputs: plain(decoded.outputs) }).toEqual({
          ...response,
          outputs: plain(response.outputs),
        });
      }),
      { seed: 2, numRuns: 300 },
    );
  });

  it("that are damaged give an InferenceError", () => {
    const output = {
      kind: "bytes",
      name: "a",
      datatype: "INT32",
      shape: [2],
      bytes: bytesOf(Int32Array.of(1, 2)),
    } as const;
    const { body, headerLength } = encodeInferResponse(
      {
        modelName: "m",
        modelVersion: "1",
        id: "7",
        parameters: { p: 1n },
        outputs: [output, { ...output, name: "b" }],
      },
      { default: "binary", byName: new Map([["b", "json"]]) },
    );
    fc.assert(
      fc.property(
        fc.nat({ max: body.length }),
        fc.integer({ min: -1, max: body.length }),
        fc.array(fc.tuple(fc.nat({ max: body.length - 1 }), fc.nat({ max: 255 })), { maxLength: 2 }),
        (length, shift, damage) => {
          const damaged = body.slice(0, length);
          for (const [at, value] of damage) if (at < length) damaged[at] = value;
          try {
            decodeInferResponse({ body: damaged, headerLength: headerLength + shift });
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(InferenceError);
          }
        },
      ),
      { seed: 3, numRuns: 2000 },
    );
  });

  it.each([
    ['{"model_name":"m","model_version":"1"}', "Unable to parse 'outputs'"],
    ['{"outputs":[]}', "Unable to parse 'model_name'"],
    ['{"model_name":"m","model_version":1,"outputs":[]}', "Unable to parse 'model_version'"],
    [
      '{"model_name":"m","model_version":"1","outputs":[{"name":"y","datatype":"X","shape":[]}]}',
      "unknown datatype 'X'",
    ],
    [
      '{"model_name":"m","model_version":"1","outputs":[{"name":"y","datatype":"FP16","shape":[1],"data":[1]}]}',
      "FP16 output 'y' in JSON",
    ],
    [
      '{"model_name":"m","model_version":"1","outputs":[{"name":"y","datatype":"INT8","shape":[1e3],"data":[1]}]}',
      "Unable to parse 'shape'",
    ],
    [
      '{"model_name":"m","model_version":"1","outputs":[{"name":"y","datatype":"INT8","shape":[1000000],"data":[1]}]}',
      "too little data for its shape",
    ],
    [
      '{"model_name":"m","model_version":"1","outputs":[{"name":"y","datatype":"INT8","shape":[1],"parameters":{"binary_data_size":1}}]}',
      "ends behind the body",
    ],
  ])("%s is none", (json, message) => {
    expect(() => decodeInferResponse({ body: new TextEncoder().encode(json) })).toThrow(message);
  });
});
