import type { BytesTensor, Datatype, ElementArray, FixedDatatype } from "@naiad/protocol";
import { bytesOf, encodeBytesElements, float32ToFp16, newElements } from "@naiad/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareOutputs } from "./compare-outputs.ts";

function tensor(datatype: FixedDatatype, values: readonly number[], name = "Y"): BytesTensor {
  const elements: ElementArray = newElements(datatype, values.length);
  const isLarge = elements instanceof BigInt64Array || elements instanceof BigUint64Array;
  for (const [index, value] of values.entries()) elements[index] = isLarge ? BigInt(value) : value;
  return { kind: "bytes", name, datatype, shape: [values.length], bytes: bytesOf(elements) };
}

function halves(values: readonly number[]): BytesTensor {
  const bytes = bytesOf(float32ToFp16(Float32Array.from(values)));
  return { kind: "bytes", name: "Y", datatype: "FP16", shape: [values.length], bytes };
}

function texts(values: readonly string[]): BytesTensor {
  const bytes = encodeBytesElements(values);
  return { kind: "bytes", name: "Y", datatype: "BYTES", shape: [values.length], bytes };
}

function difference(expected: BytesTensor, actual: BytesTensor): string | undefined {
  const comparison = compareOutputs([expected], [actual]);
  return comparison.kind === "equal" ? undefined : comparison.text;
}

describe("compareOutputs", () => {
  it("accepts what devices may differ by", () => {
    expect(difference(tensor("FP32", [100, 1, 0]), tensor("FP32", [100.5, 1.09, 0.09]))).toBeUndefined();
    expect(difference(halves([10, 0.5]), halves([10.4, 0.55]))).toBeUndefined();
    expect(difference(tensor("UINT8", [7, 200]), tensor("UINT8", [9, 198]))).toBeUndefined();
  });

  it("tells the worst element", () => {
    expect(difference(tensor("FP32", [1, 2, 3]), tensor("FP32", [1.1, 2, 5.5]))).toBe(
      "output 'Y' differs by 2.5 at element 2, where 0.033 is allowed",
    );
    expect(difference(tensor("UINT8", [7]), tensor("UINT8", [10]))).toBe(
      "output 'Y' differs by 3 at element 0, where 2 is allowed",
    );
  });

  it.each<[Datatype, BytesTensor, BytesTensor]>([
    ["INT64", tensor("INT64", [1, 2]), tensor("INT64", [1, 3])],
    ["INT32", tensor("INT32", [1]), tensor("INT32", [0])],
    ["BOOL", tensor("BOOL", [1]), tensor("BOOL", [0])],
    ["BYTES", texts(["a", "b"]), texts(["a", "c"])],
  ])("takes %s literally", (_, expected, actual) => {
    expect(difference(expected, expected)).toBeUndefined();
    expect(difference(expected, actual)).toMatch(/^output 'Y' differs .*at element/);
  });

  it("takes NaN and infinities for equal only where both sides have them", () => {
    const { NaN: nan, POSITIVE_INFINITY: infinity } = Number;
    expect(
      difference(tensor("FP32", [nan, infinity, 1]), tensor("FP32", [nan, infinity, 1])),
    ).toBeUndefined();
    expect(difference(tensor("FP32", [1, 2]), tensor("FP32", [1, nan]))).toBe(
      "output 'Y' has NaN at element 1 instead of 2",
    );
    expect(difference(tensor("FP32", [infinity]), tensor("FP32", [-infinity]))).toBe(
      "output 'Y' has -Infinity at element 0 instead of Infinity",
    );
    expect(difference(tensor("FP32", [nan]), tensor("FP32", [0]))).toBe(
      "output 'Y' has 0 at element 0 instead of NaN",
    );
  });

  it("wants the same outputs of the same type and shape", () => {
    const expected = tensor("FP32", [1, 2]);
    expect(compareOutputs([expected], [])).toEqual({ kind: "different", text: "output 'Y' is missing" });
    expect(difference(expected, tensor("FP64", [1, 2]))).toBe("output 'Y' has datatype FP64 instead of FP32");
    expect(difference(expected, { ...expected, shape: [1, 2] })).toBe(
      "output 'Y' has shape [1,2] instead of [2]",
    );
  });

  it("finds each tensor equal to itself", () => {
    const arrays = fc.float32Array({ maxLength: 20 });
    fc.assert(
      fc.property(arrays, (values) => {
        const one = tensor("FP32", [...values]);
        return difference(one, one) === undefined;
      }),
      { seed: 7 },
    );
  });

  it("finds any number that is off by as much as the largest one", () => {
    const values = fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(values, fc.nat(), (numbers, position) => {
        const index = position % numbers.length;
        const largest = Math.max(1, ...numbers.map(Math.abs));
        const wrong = numbers.map((number, at) => (at === index ? number + largest : number));
        return difference(tensor("FP32", numbers), tensor("FP32", wrong)) !== undefined;
      }),
      { seed: 7 },
    );
  });
});
