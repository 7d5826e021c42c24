import { describe, expect, it } from "vitest";
import { murmurHash128 } from "./murmur-hash.ts";

/** The hash as its authors' implementation leaves it in memory. */
function inMemory(hash: string): Uint8Array {
  const words = [0, 8, 16, 24].map((at) => Number.parseInt(hash.slice(at, at + 8), 16));
  return new Uint8Array(Uint32Array.from(words).buffer);
}

describe("murmurHash128", () => {
  it("gives the verification value that its authors publish", () => {
    const hashes = Array.from({ length: 256 }, (_, length) => {
      const key = Uint8Array.from({ length }, (_byte, index) => index);
      return [...inMemory(murmurHash128(key, 256 - length))];
    });
    const all = murmurHash128(Uint8Array.from(hashes.flat()));
    expect(all.slice(0, 8)).toBe("b3ece62a");
  });

  it("does not depend on where in their buffer the bytes begin", () => {
    const content = Uint8Array.from({ length: 100 }, (_, index) => (index * 37) & 255);
    const hashes = [0, 1, 2, 3, 5].map((offset) => {
      const buffer = new Uint8Array(120).fill(9);
      buffer.set(content, offset);
      return murmurHash128(buffer.subarray(offset, offset + 100));
    });
    expect(new Set(hashes).size).toBe(1);
  });

  it("tells zeros of different number apart", () => {
    const hashes = Array.from({ length: 70 }, (_, length) => murmurHash128(new Uint8Array(length)));
    expect(new Set(hashes).size).toBe(70);
  });
});
