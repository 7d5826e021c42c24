import { describe, expect, it } from "vitest";
import { DATATYPES, elementByteSize } from "./datatype.ts";
import type { Datatype } from "./datatype.ts";
import { countBytesElements, typedElements } from "./elements.ts";
import { bf16ToFloat32, fp16ToFloat32 } from "./half-float.ts";
import { madeUpElements } from "./made-up-elements.ts";

const FIXED = DATATYPES.filter((datatype) => datatype !== "BYTES");
const COUNT = 2000;

function floats(datatype: Datatype): readonly number[] {
  const bytes = madeUpElements(datatype, COUNT, "random");
  switch (datatype) {
    case "FP16":
      return [...fp16ToFloat32(typedElements("FP16", bytes))];
    case "BF16":
      return [...bf16ToFloat32(typedElements("BF16", bytes))];
    case "FP64":
      return [...typedElements("FP64", bytes)];
    default:
      return [...typedElements("FP32", bytes)];
  }
}

describe("made-up elements", () => {
  it.each(FIXED)("of %s are zero bytes, or random ones of the same size that do not change", (datatype) => {
    const size = COUNT * elementByteSize(datatype);
    expect(madeUpElements(datatype, COUNT, "zero")).toEqual(new Uint8Array(size));
    const random = madeUpElements(datatype, COUNT, "random");
    expect(random).toHaveLength(size);
    expect(random.some((byte) => byte !== 0)).toBe(true);
    expect(madeUpElements(datatype, COUNT, "random")).toEqual(random);
  });

  it.each(["FP16", "BF16", "FP32", "FP64"] as const)("of %s are spread over [0, 1)", (datatype) => {
    const values = floats(datatype);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...values)).toBeLessThan(1);
    const mean = values.reduce((sum, value) => sum + value, 0) / COUNT;
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.05);
  });

  it("of INT8 take both signs, and of BOOL both values", () => {
    const integers = new Set(typedElements("INT8", madeUpElements("INT8", COUNT, "random")));
    expect(integers.size).toBeGreaterThan(200);
    expect([...new Set(madeUpElements("BOOL", COUNT, "random"))].sort()).toEqual([0, 1]);
  });

  it.each(["zero", "random"] as const)("of BYTES are empty elements when %s", (kind) => {
    const bytes = madeUpElements("BYTES", 3, kind);
    expect(bytes).toEqual(new Uint8Array(12));
    expect(countBytesElements(bytes)).toBe(3);
  });
});
