import * as ort from "onnxruntime-web";
import { float32ToFp16 } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { createNonFiniteWatch } from "./non-finite.ts";

function float32(values: ArrayLike<number>): ort.Tensor {
  return new ort.Tensor("float32", Float32Array.from(values), [values.length]);
}

function float16(values: readonly number[]): ort.Tensor {
  return new ort.Tensor("float16", float32ToFp16(Float32Array.from(values)), [values.length]);
}

describe("a watch for NaN and infinities", () => {
  it.each<[string, ort.Tensor]>([
    ["NaN", float32([1, Number.NaN, 2])],
    ["infinity", float32([Number.POSITIVE_INFINITY])],
    ["minus infinity", float32([0, Number.NEGATIVE_INFINITY])],
    ["NaN among doubles", new ort.Tensor("float64", Float64Array.of(1, Number.NaN), [2])],
    ["NaN among half floats", float16([1, Number.NaN])],
    ["infinity among half floats", float16([1, Number.NEGATIVE_INFINITY])],
  ])("finds %s", (_, tensor) => {
    expect(createNonFiniteWatch().look({ good: float32([1]), bad: tensor })).toEqual(["bad"]);
  });

  it("finds nothing in ordinary numbers, other types and empty outputs", () => {
    const results = {
      large: float32([3.4e38, -1e-45, -0]),
      half: float16([65504, -65504, 0]),
      whole: new ort.Tensor("int32", Int32Array.of(-1, 0x7fc00000), [2]),
      text: new ort.Tensor("string", ["NaN"], [1]),
      empty: float32([]),
      emptyHalf: float16([]),
    };
    expect(createNonFiniteWatch().look(results)).toEqual([]);
  });

  it("sees each element of a large output within a few rounds", () => {
    const values = new Float32Array(50_000);
    values[31_417] = Number.NaN;
    const tensor = float32(values);
    const watch = createNonFiniteWatch();
    const rounds = Array.from({ length: Math.ceil(50_000 / 8192) }, () => watch.look({ tensor }).length);
    expect(rounds.reduce((sum, found) => sum + found, 0)).toBe(1);
  });
});
