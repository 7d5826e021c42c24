import { describe, expect, it } from "vitest";
import { createByteBudget, defaultMaxInflightBytes } from "./byte-budget.ts";

describe("the byte budget", () => {
  it("has room for what fits into it, until it is released", () => {
    const budget = createByteBudget(10);
    const release = budget.hold(6);
    expect(budget.fits(4)).toBe(true);
    expect(budget.fits(5)).toBe(false);
    release();
    expect(budget.fits(10)).toBe(true);
    expect(budget.inflightBytes).toBe(0);
  });

  it("has room for one that is larger than itself when there is nothing else", () => {
    const budget = createByteBudget(10);
    expect(budget.fits(11)).toBe(true);
    const release = budget.hold(11);
    expect(budget.fits(0)).toBe(false);
    release();
    budget.hold(1);
    expect(budget.fits(11)).toBe(false);
  });

  it("does not let the bytes of one request be released twice", () => {
    const budget = createByteBudget(10);
    const release = budget.hold(6);
    release();
    expect(release).toThrow("released once");
    expect(budget.inflightBytes).toBe(0);
  });

  it("is a sixteenth of the device's memory by default", () => {
    expect(defaultMaxInflightBytes({ deviceMemoryBytes: 8 * 1024 ** 3 })).toBe(512 * 1024 ** 2);
    expect(defaultMaxInflightBytes({})).toBe(256 * 1024 ** 2);
  });
});
