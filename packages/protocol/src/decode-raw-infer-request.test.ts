import { describe, expect, it } from "vitest";
import { type RawInferRequestSource, decodeRawInferRequest } from "./decode-raw-infer-request.ts";
import { InferenceError } from "./status.ts";

function source(overrides: Partial<RawInferRequestSource>): RawInferRequestSource {
  return {
    modelName: "m",
    modelVersion: "1",
    body: new Uint8Array(24),
    maxInputSize: 1024,
    inputs: [{ name: "x", datatype: "FP32", shape: [-1, 3] }],
    batching: "single",
    ...overrides,
  };
}

describe("decodeRawInferRequest", () => {
  it.each<[string, Partial<RawInferRequestSource>, readonly number[]]>([
    ["the variable dimension takes what remains", {}, [2, 3]],
    [
      "a batch of one is put before",
      { batching: "batched", inputs: [{ name: "x", datatype: "FP32", shape: [-1, 2, -1] }] },
      [1, 2, 3],
    ],
    ["fixed dimensions stay", { inputs: [{ name: "x", datatype: "FP32", shape: [6] }] }, [6]],
    ["an empty body is an empty tensor", { body: new Uint8Array(0) }, [0, 3]],
    [
      "nothing fits into nothing",
      { body: new Uint8Array(0), inputs: [{ name: "x", datatype: "FP32", shape: [-1, 0] }] },
      [0, 0],
    ],
  ])("%s", (_name, overrides, shape) => {
    const { request, format } = decodeRawInferRequest(source(overrides));
    const [input] = request.inputs;
    expect(input?.shape).toEqual(shape);
    expect(request).toMatchObject({ modelName: "m", modelVersion: "1", id: "", outputs: [] });
    expect(format.default).toBe("binary");
  });

  it("puts a length before the bare string of a BYTES input", () => {
    const inputs = [{ name: "x", datatype: "BYTES", shape: [-1, 1] }];
    const decoded = decodeRawInferRequest(
      source({ body: Uint8Array.of(0x68, 0x69), inputs, batching: "batched" }),
    );
    expect(decoded.request.inputs).toEqual([
      {
        kind: "bytes",
        name: "x",
        datatype: "BYTES",
        shape: [1, 1],
        bytes: Uint8Array.of(2, 0, 0, 0, 0x68, 0x69),
      },
    ]);
  });

  it.each<[Partial<RawInferRequestSource>, string]>([
    [
      { inputs: [] },
      "[request id: <id_unknown>] Raw request must only have 1 input (found 1) to be deduced but got 0 inputs in 'm' model configuration",
    ],
    [
      {
        inputs: [
          { name: "x", datatype: "FP32", shape: [1] },
          { name: "y", datatype: "FP32", shape: [1] },
        ],
      },
      "[request id: <id_unknown>] Raw request must only have 1 input (found 1) to be deduced but got 2 inputs in 'm' model configuration",
    ],
    [
      { inputs: [{ name: "x", datatype: "BYTES", shape: [2] }] },
      "[request id: <id_unknown>] For BYTE datatype raw input 'x', the model must have input shape [1]",
    ],
    [
      { inputs: [{ name: "x", datatype: "FP32", shape: [-1, -1] }] },
      "[request id: <id_unknown>] The shape of the raw input 'x' can not be deduced because there are more than one variable-sized dimension",
    ],
    [
      { maxInputSize: 23 },
      "Raw input has a byte_size (24 bytes) that exceeds the maximum allowed value of 23 bytes. Use --http-max-input-size to increase the limit.",
    ],
  ])("case %# is refused", (overrides, message) => {
    expect(() => decodeRawInferRequest(source(overrides))).toThrow(
      new InferenceError("INVALID_ARG", message),
    );
  });
});
