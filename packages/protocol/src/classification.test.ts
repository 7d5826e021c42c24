import { describe, expect, it } from "vitest";
import { type ClassificationOptions, classifyOutput } from "./classification.ts";
import { bytesOf, decodeStringElements } from "./elements.ts";
import { InferenceError } from "./status.ts";
import type { BytesTensor } from "./tensor.ts";

function tensor(
  datatype: BytesTensor["datatype"],
  shape: readonly number[],
  view: ArrayBufferView,
): BytesTensor {
  return { kind: "bytes", name: "y", datatype, shape, bytes: bytesOf(view) };
}

function classify(output: BytesTensor, options: ClassificationOptions): readonly string[] {
  return decodeStringElements(classifyOutput(output, options).bytes, "y");
}

describe("classifyOutput", () => {
  it("takes the best of each item, with labels where there are", () => {
    const output = tensor("FP32", [2, 3], Float32Array.of(0.25, 0.5, 0.125, 3, 1, 2));
    const result = classifyOutput(output, { classCount: 2, batching: "batched", labels: ["cat", "", "fox"] });
    expect(result).toMatchObject({ name: "y", datatype: "BYTES", shape: [2, 2] });
    expect(decodeStringElements(result.bytes, "y")).toEqual([
      "0.500000:1",
      "0.250000:0:cat",
      "3.000000:0:cat",
      "2.000000:2:fox",
    ]);
  });

  it("takes the whole tensor for one item without batching", () => {
    const output = tensor("INT32", [2, 2], Int32Array.of(5, -1, 7, 5));
    const result = classifyOutput(output, { classCount: 9, batching: "single" });
    expect(result.shape).toEqual([4]);
    expect(decodeStringElements(result.bytes, "y")).toEqual(["7:2", "5:0", "5:3", "-1:1"]);
  });

  it("knows empty batches and items", () => {
    const empty = classifyOutput(tensor("FP32", [0, 3], new Uint8Array(0)), {
      classCount: 2,
      batching: "batched",
    });
    expect([empty.shape, empty.bytes.length]).toEqual([[0, 2], 0]);
    const nothing = classifyOutput(tensor("FP32", [2, 0], new Uint8Array(0)), {
      classCount: 2,
      batching: "batched",
    });
    expect([nothing.shape, nothing.bytes.length]).toEqual([[2, 0], 0]);
  });

  it("writes 64-bit integers exactly and puts NaN last", () => {
    const wide = tensor("UINT64", [2], BigUint64Array.of(1n, 2n ** 64n - 1n));
    expect(classify(wide, { classCount: 2, batching: "single" })).toEqual(["18446744073709551615:1", "1:0"]);
    const holes = tensor("FP32", [4], Float32Array.of(NaN, -1, NaN, 2));
    expect(classify(holes, { classCount: 4, batching: "single" })).toEqual([
      "2.000000:3",
      "-1.000000:1",
      "nan:0",
      "nan:2",
    ]);
  });

  it.each([
    [0, "0.000000"],
    [-0, "-0.000000"],
    [1e-9, "0.000000"],
    [-1e-9, "-0.000000"],
    [0.1, "0.100000"],
    // Exactly between two numbers of six decimals: the even one.
    [0.0078125, "0.007812"],
    [0.0234375, "0.023438"],
    [-0.0078125, "-0.007812"],
    [1e21, "1000000000000000000000.000000"],
    [2 ** 70, "1180591620717411303424.000000"],
    [Infinity, "inf"],
    [-Infinity, "-inf"],
  ])("writes %d as C does", (value, text) => {
    const output = tensor("FP64", [1], Float64Array.of(value));
    expect(classify(output, { classCount: 1, batching: "single" })).toEqual([`${text}:0`]);
  });

  it.each(["BOOL", "FP16", "BF16", "BYTES"] as const)("does not order %s", (datatype) => {
    expect(() =>
      classifyOutput(tensor(datatype, [0], new Uint8Array(0)), { classCount: 1, batching: "single" }),
    ).toThrow(
      new InferenceError(
        "INVALID_ARG",
        `class result not available for output due to unsupported type '${datatype}'`,
      ),
    );
  });

  it("refuses an item of more than a million elements", () => {
    const output = tensor("INT8", [1_000_001], new Int8Array(1_000_001));
    expect(() => classifyOutput(output, { classCount: 1, batching: "single" })).toThrow(
      new InferenceError("INVALID_ARG", "classification output tensor too large"),
    );
  });
});
