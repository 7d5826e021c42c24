import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bf16ToFloat32, float32ToBf16, float32ToFp16, fp16ToFloat32 } from "./half-float.ts";

const allPatterns = Uint16Array.from({ length: 65536 }, (_, index) => index);

describe("FP16", () => {
  it.each([
    [0x0000, 0],
    [0x3c00, 1],
    [0xc000, -2],
    [0x7bff, 65504],
    [0x0001, 2 ** -24],
    [0x03ff, 1023 * 2 ** -24],
    [0x0400, 2 ** -14],
    [0x7c00, Infinity],
    [0xfc00, -Infinity],
    [0x3555, 0.333251953125],
  ])("%i is %d", (half, value) => {
    expect(fp16ToFloat32(Uint16Array.of(half))[0]).toBe(value);
    expect(float32ToFp16(Float32Array.of(value))[0]).toBe(half);
  });

  it("keeps every pattern but the payload of NaN", () => {
    const floats = fp16ToFloat32(allPatterns);
    const back = float32ToFp16(floats);
    const isNaNPattern = (half: number): boolean => (half & 0x7fff) > 0x7c00;
    expect(allPatterns.filter((half) => Number.isNaN(floats[half]) !== isNaNPattern(half))).toHaveLength(0);
    expect(allPatterns.filter((half) => !isNaNPattern(half) && back[half] !== half)).toHaveLength(0);
    expect(Object.is(floats[0x8000], -0)).toBe(true);
  });

  it("rounds to the nearest, ties to even", () => {
    const halves = fp16ToFloat32(allPatterns.slice(0, 0x7c01));
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0x7bfe }), fc.integer({ min: 0, max: 8 }), (lower, eighths) => {
        const low = halves[lower] ?? 0;
        const high = halves[lower + 1] ?? 0;
        const value = low + ((high - low) * eighths) / 8;
        const even = lower % 2 === 0 ? lower : lower + 1;
        const expected = eighths < 4 ? lower : eighths > 4 ? lower + 1 : even;
        expect(float32ToFp16(Float32Array.of(value, -value))).toEqual(
          Uint16Array.of(expected, expected | 0x8000),
        );
      }),
      { seed: 1, numRuns: 2000 },
    );
  });

  it.each([
    [65519.99, 0x7bff],
    [65520, 0x7c00],
    [1e30, 0x7c00],
    [2 ** -25, 0],
    [2 ** -25 * (1 + 2 ** -23), 1],
    [1e-40, 0],
  ])("%d becomes %i", (value, half) => {
    expect(float32ToFp16(Float32Array.of(value))[0]).toBe(half);
  });

  it("keeps NaN", () => {
    expect(fp16ToFloat32(float32ToFp16(Float32Array.of(NaN)))[0]).toBeNaN();
  });
});

describe("BF16", () => {
  it("keeps every pattern", () => {
    const floats = bf16ToFloat32(allPatterns);
    const back = float32ToBf16(floats);
    const isNaNPattern = (half: number): boolean => (half & 0x7fff) > 0x7f80;
    expect(allPatterns.filter((half) => Number.isNaN(floats[half]) !== isNaNPattern(half))).toHaveLength(0);
    expect(allPatterns.filter((half) => !isNaNPattern(half) && back[half] !== half)).toHaveLength(0);
  });

  it("cuts off the lower half, of NaN too without losing it", () => {
    expect(float32ToBf16(Float32Array.of(1.9999999))[0]).toBe(0x3fff);
    const nan = new Float32Array(Uint32Array.of(0x7f800001).buffer);
    expect(bf16ToFloat32(float32ToBf16(nan))[0]).toBeNaN();
  });
});
