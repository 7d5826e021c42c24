import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeCtc } from "./javascript/ctc.js";
import { inkBounds } from "./javascript/ink-bounds.js";
import { findRegions } from "./javascript/text-regions.js";
import { BANDS, cutWindows, STEPS } from "./javascript/windows.js";

describe("decodeCtc", () => {
  const LABELS = ["<blank>", "a", "b", " "];
  const steps = (classes: readonly number[], sure = 0.9): Float32Array =>
    Float32Array.from(classes.flatMap((best) => LABELS.map((_, index) => (index === best ? sure : 0.01))));

  it("merges repeats, drops blanks and keeps a repeat that a blank divides", () => {
    const { score, text } = decodeCtc(steps([0, 1, 1, 0, 1, 2, 3, 3, 2, 0]), LABELS);
    expect(text).toBe("aab b");
    expect(score).toBeCloseTo(0.9);
  });

  it("reads nothing, with no confidence, where everything is blank", () => {
    expect(decodeCtc(steps([0, 0, 0]), LABELS)).toEqual({ text: "", score: 0 });
  });
});

describe("findRegions", () => {
  type Box = readonly [left: number, top: number, right: number, bottom: number];

  const map = (width: number, height: number, boxes: readonly Box[], probability = 0.9): Float32Array =>
    Float32Array.from({ length: width * height }, (_, at) => {
      const [x, y] = [at % width, Math.floor(at / width)];
      const isText = boxes.some(([l, t, r, b]) => x >= l && x < r && y >= t && y < b);
      return isText ? probability : 0.05;
    });

  it("finds lines in reading order: row by row, each from left to right", () => {
    const boxes: readonly Box[] = [
      [60, 11, 90, 19],
      [5, 50, 80, 58],
      [5, 13, 40, 20],
    ];
    const found = findRegions(map(100, 70, boxes), 100, 70);
    expect(found.map(({ left, top }) => [left < 5, top < 20])).toEqual([
      [true, true],
      [false, true],
      [true, false],
    ]);
  });

  it("grows the core that the detector marks", () => {
    const [region] = findRegions(map(100, 40, [[10, 10, 70, 20]]), 100, 40);
    // 60 x 10: 1.8 times area by circumference on each side.
    const by = (1.8 * 600) / 140;
    expect(region).toEqual({ left: 10 - by, top: 10 - by, right: 70 + by, bottom: 20 + by });
  });

  it("leaves out specks, and what is hardly text", () => {
    expect(findRegions(map(50, 50, [[10, 10, 12, 40]]), 50, 50)).toEqual([]);
    expect(findRegions(map(50, 50, [[10, 10, 40, 20]], 0.5), 50, 50)).toEqual([]);
  });

  it("finds each of any boxes that do not touch, inside of the picture", () => {
    const row = fc.record({ left: fc.integer({ min: 0, max: 30 }), width: fc.integer({ min: 3, max: 60 }) });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 5 }), (rows) => {
        const boxes = rows.map(({ left, width }, index): Box => [
          left,
          index * 12 + 2,
          left + width,
          index * 12 + 8,
        ]);
        const found = findRegions(map(100, 64, boxes), 100, 64);
        expect(found).toHaveLength(boxes.length);
        for (const [index, { left, top, right, bottom }] of found.entries()) {
          const [l, t, r, b] = boxes[index] ?? [0, 0, 0, 0];
          expect(left <= l && top <= t && right >= r && bottom >= b).toBe(true);
          expect(left >= 0 && top >= 0 && right <= 100 && bottom <= 64).toBe(true);
        }
      }),
      { seed: 5 },
    );
  });
});

describe("inkBounds", () => {
  const picture = (
    width: number,
    height: number,
    isInk: (x: number, y: number) => boolean,
  ): Uint8ClampedArray =>
    Uint8ClampedArray.from({ length: width * height * 4 }, (_, index) => {
      const [x, y] = [Math.floor(index / 4) % width, Math.floor(index / 4 / width)];
      return isInk(x, y) ? 20 : 250;
    });

  it("cuts margins, but leaves a fifth of the ink's height as air", () => {
    const line = picture(100, 60, (x, y) => x >= 20 && x < 90 && y >= 20 && y < 40);
    expect(inkBounds(line, 100, 60)).toEqual({ x: 16, y: 16, width: 78, height: 28 });
  });

  it("stays inside of the picture, and takes all of it where there is no ink", () => {
    const full = picture(30, 20, (x, y) => x > 0 || y > 0);
    expect(inkBounds(full, 30, 20)).toEqual({ x: 0, y: 0, width: 30, height: 20 });
    expect(
      inkBounds(
        picture(30, 20, () => false),
        30,
        20,
      ),
    ).toEqual({ x: 0, y: 0, width: 30, height: 20 });
  });
});

describe("cutWindows", () => {
  it("cuts a window every 8 steps, scaled as the embedding was trained", () => {
    const steps = 196;
    const spectrogram = Float32Array.from({ length: steps * BANDS }, (_, index) => Math.floor(index / BANDS));
    const { count, values } = cutWindows(spectrogram);
    expect(count).toBe(16);
    expect(values).toHaveLength(16 * STEPS * BANDS);
    const firsts = Array.from({ length: count }, (_, window) => values[window * STEPS * BANDS] ?? NaN);
    firsts.forEach((first, window) => expect(first).toBeCloseTo(window * 0.8 + 2, 5));
  });

  it("cuts none of what is shorter than one", () => {
    expect(cutWindows(new Float32Array((STEPS - 1) * BANDS)).count).toBe(0);
  });
});
