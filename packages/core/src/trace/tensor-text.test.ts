import type { BytesTensor, Datatype } from "@naiad/protocol";
import { encodeBytesElements } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { floatText, tensorText } from "./tensor-text.ts";

describe("floatText", () => {
  it.each([
    [0, "0"],
    [-0, "-0"],
    [1, "1"],
    [-2.5, "-2.5"],
    [0.1, "0.1"],
    [1 / 3, "0.333333"],
    [100_000, "100000"],
    [999_999.5, "1e+06"],
    [123_456_789, "1.23457e+08"],
    [0.0001, "0.0001"],
    [0.000_012_345_67, "1.23457e-05"],
    [0.000_123_456_78, "0.000123457"],
    [999_999.4, "999999"],
    [-123_456.25, "-123456"],
    [1000.01, "1000.01"],
    [1e100, "1e+100"],
    [-1e-300, "-1e-300"],
    [Number.NaN, "nan"],
    [Number.POSITIVE_INFINITY, "inf"],
    [Number.NEGATIVE_INFINITY, "-inf"],
  ])("writes %d as C++ does", (value, text) => {
    expect(floatText(value)).toBe(text);
  });
});

describe("tensorText", () => {
  const tensor = (datatype: Datatype, view: ArrayBufferView): BytesTensor => ({
    kind: "bytes",
    name: "t",
    datatype,
    shape: [],
    bytes: new Uint8Array(view.buffer, view.byteOffset, view.byteLength),
  });

  it.each([
    ["BOOL", Uint8Array.of(1, 0), "1,0"],
    ["UINT8", Uint8Array.of(0, 255), "0,255"],
    ["INT64", BigInt64Array.of(-1n, 2n ** 62n), "-1,4611686018427387904"],
    ["FP16", Uint16Array.of(0x3c00, 0xc000), "1,-2"],
    ["BF16", Uint16Array.of(0x3f80), "1"],
    ["FP32", Float32Array.of(0.1, 16_777_216), "0.1,1.67772e+07"],
    ["BYTES", encodeBytesElements(["a", 'b"c']), '"a","b"c"'],
    // An element is cut off.
    ["BYTES", Uint8Array.of(9, 0, 0, 0), ""],
    ["FP32", new Float32Array(), ""],
  ] as const)("writes elements of %s", (datatype, view, text) => {
    expect(tensorText(tensor(datatype, view))).toBe(text);
  });

  it("ends with the texts that have room in four million bytes", () => {
    const bytes = encodeBytesElements(["a", "b".repeat(3_000_000), "c".repeat(3_000_000)]);
    expect(tensorText(tensor("BYTES", bytes))).toHaveLength('"a","",'.length - 1 + 3_000_000);
    expect(tensorText(tensor("BYTES", encodeBytesElements(["d".repeat(5_000_000)])))).toBe("");
  });

  it("ends after the first million elements", () => {
    const text = tensorText(tensor("UINT8", new Uint8Array(2 ** 20 + 5)));
    expect(text).toHaveLength(2 * 2 ** 20 - 1);
  });
});
