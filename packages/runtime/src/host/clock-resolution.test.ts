import { describe, expect, it } from "vitest";
import { clockResolution } from "./clock-resolution.ts";

/** A clock that is read every 10 ns and shows whole steps only. */
function stepping(stepNs: number): () => number {
  let ns = 0;
  return () => {
    ns += 10;
    return Math.floor(ns / stepNs) * stepNs;
  };
}

describe("clockResolution", () => {
  it.each([10, 5_000, 100_000, 1_000_000])("finds a step of %i ns", (stepNs) => {
    expect(clockResolution(stepping(stepNs))).toBe(stepNs);
  });

  it("takes the smallest step where some are longer", () => {
    const steps = [100, 105, 205, 305];
    let reading = 0;
    expect(clockResolution(() => steps[reading++] ?? 305)).toBe(5);
  });

  it("gives up on a clock that stands still, and then tells the worst", () => {
    let readings = 0;
    const standing = (): number => {
      readings += 1;
      return 7;
    };
    expect(clockResolution(standing)).toBe(100e6);
    expect(readings).toBeLessThan(1_000_000);
  });
});
