import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bodyHash } from "./body-hash.ts";

const hashOf = (...bytes: number[]): string => bodyHash(Uint8Array.from(bytes).buffer);

describe("bodyHash", () => {
  it("is 64 bits in hexadecimal", () => {
    for (const body of [hashOf(), hashOf(0), hashOf(1, 2, 3, 4, 5)]) expect(body).toMatch(/^[0-9a-f]{16}$/);
  });

  it("is the same for equal bodies", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        expect(hashOf(...bytes)).toBe(hashOf(...bytes));
      }),
      { seed: 3, numRuns: 50 },
    );
  });

  it("tells lengths of zeros apart", () => {
    const hashes = Array.from({ length: 300 }, (_, length) => bodyHash(new ArrayBuffer(length)));
    expect(new Set(hashes).size).toBe(300);
  });

  it("changes with every single bit, and about half of its own bits each time", () => {
    const body = Uint8Array.from({ length: 43 }, (_, index) => index * 37);
    const original = BigInt(`0x${bodyHash(body.buffer)}`);
    let changedBits = 0;
    for (let bit = 0; bit < body.length * 8; bit += 1) {
      const damaged = body.slice();
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const difference = original ^ BigInt(`0x${bodyHash(damaged.buffer)}`);
      expect(difference).not.toBe(0n);
      changedBits += difference.toString(2).replaceAll("0", "").length;
    }
    const share = changedBits / (body.length * 8 * 64);
    expect(share).toBeGreaterThan(0.4);
    expect(share).toBeLessThan(0.6);
  });

  it("tells apart bodies that differ in the order of their words", () => {
    expect(hashOf(1, 0, 0, 0, 2, 0, 0, 0)).not.toBe(hashOf(2, 0, 0, 0, 1, 0, 0, 0));
  });

  it("does not collide on many small numbers", () => {
    const hashes = new Set<string>();
    for (let number = 0; number < 20_000; number += 1) {
      hashes.add(bodyHash(Float32Array.of(number, 1).buffer));
    }
    expect(hashes.size).toBe(20_000);
  });
});
