import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMd5 } from "./md5.ts";

function md5(...pieces: readonly Uint8Array[]): string {
  const digest = createMd5();
  for (const piece of pieces) digest.update(piece);
  return digest.hex();
}

describe("MD5", () => {
  it.each([
    ["", "d41d8cd98f00b204e9800998ecf8427e"],
    ["a", "0cc175b9c0f1b6a831c399e269772661"],
    ["abc", "900150983cd24fb0d6963f7d28e17f72"],
    ["message digest", "f96b697d7cb7938d525a2f31aaf161d0"],
    ["1234567890".repeat(8), "57edf4a22be3c955ac49da2e2107b67a"],
  ])("of %j is %s, as the RFC says", (text, digest) => {
    expect(md5(new TextEncoder().encode(text))).toBe(digest);
  });

  it.each([55, 56, 57, 63, 64, 65, 119, 120, 128, 4096])("of %i bytes is node's", (length) => {
    const bytes = Uint8Array.from({ length }, (_, i) => i * 7);
    expect(md5(bytes)).toBe(createHash("md5").update(bytes).digest("hex"));
  });

  it("does not depend on how the bytes are cut", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 150 }), { maxLength: 6 }), (pieces) => {
        const hash = createHash("md5");
        for (const piece of pieces) hash.update(piece);
        expect(md5(...pieces)).toBe(hash.digest("hex"));
      }),
      { seed: 1321, numRuns: 300 },
    );
  });
});
