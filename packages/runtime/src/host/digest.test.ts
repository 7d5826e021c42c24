import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createDigest } from "./digest.ts";

const platform = createDigest(crypto.subtle);
const plain = createDigest(undefined);

describe("createDigest", () => {
  it.each([
    ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
  ])("hashes '%s'", async (text, expected) => {
    const bytes = new TextEncoder().encode(text);
    expect(await platform.sha256(bytes)).toBe(expected);
    expect(await plain.sha256(bytes)).toBe(expected);
  });

  it("hashes the same without the platform's help, at every length around a block", async () => {
    const bytes = fc.uint8Array({ minLength: 0, maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(bytes, async (content) => {
        expect(await plain.sha256(content)).toBe(await platform.sha256(content));
      }),
      { seed: 11 },
    );
  });

  it("hashes a view as exactly its bytes, on shared memory too", async () => {
    const shared = new Uint8Array(new SharedArrayBuffer(8)).subarray(2, 5);
    shared.set([97, 98, 99]);
    const expected = await platform.sha256(Uint8Array.of(97, 98, 99));
    expect(await platform.sha256(shared)).toBe(expected);
    expect(await plain.sha256(shared)).toBe(expected);
  });
});
