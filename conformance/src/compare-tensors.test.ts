import { describe, expect, it } from "vitest";
import { differenceOf, LOOSE, STRICT } from "./compare-tensors.ts";
import type { V2Tensor } from "./v2-tensor.ts";
import { bytesTensorContent } from "./v2-tensor.ts";

function fp32(values: readonly number[], shape: readonly number[] = [values.length]): V2Tensor {
  return { name: "y", datatype: "FP32", shape, bytes: new Uint8Array(Float32Array.from(values).buffer) };
}

function texts(...values: string[]): V2Tensor {
  const bytes = bytesTensorContent(values.map((value) => new TextEncoder().encode(value)));
  return { name: "y", datatype: "BYTES", shape: [values.length], bytes };
}

describe("differenceOf", () => {
  it.each<[V2Tensor, V2Tensor]>([
    [fp32([1, -2]), fp32([1.0005, -2])],
    [fp32([NaN, Infinity]), fp32([NaN, Infinity])],
    [fp32([-3.4028234663852886e38]), fp32([-Infinity])],
    [fp32([7], [1]), fp32([7], [])],
    [fp32([], [0, 3]), fp32([], [0, 3])],
    [texts("a", "é"), texts("a", "é")],
  ])("accepts %#", (actual, expected) => {
    expect(differenceOf([actual], [expected], STRICT)).toBeUndefined();
  });

  it.each<[V2Tensor, V2Tensor, string]>([
    [fp32([1.01]), fp32([1]), "element 0 is 1.0099999904632568 where 1 is expected"],
    [fp32([1]), fp32([NaN]), "element 0 is 1 where NaN is expected"],
    [fp32([1]), fp32([Infinity]), "element 0 is 1 where Infinity is expected"],
    [fp32([1, 2], [2]), fp32([1, 2], [1, 2]), "shape [2] where [1,2] is expected"],
    [texts("a"), texts("b"), "element 0 is a where b is expected"],
    [texts("a"), fp32([1]), "BYTES where FP32 is expected"],
  ])("refuses %#", (actual, expected, difference) => {
    expect(differenceOf([actual], [expected], STRICT)).toBe(`output 'y': ${difference}`);
  });

  it("wants every output, and no other", () => {
    expect(differenceOf([], [fp32([1])], LOOSE)).toBe("0 outputs where 1 are expected");
    expect(differenceOf([{ ...fp32([1]), name: "z" }], [fp32([1])], LOOSE)).toBe("no output 'y'");
  });
});
