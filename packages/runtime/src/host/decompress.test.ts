import { deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { decompress } from "./decompress.ts";

const TEXT = "as long as it is wide, ".repeat(100);
const LIMIT = TEXT.length;

describe("decompress", () => {
  it.each([
    ["gzip", gzipSync(TEXT)],
    ["deflate", deflateSync(TEXT)],
  ] as const)("unpacks %s", async (encoding, packed) => {
    expect(new TextDecoder().decode(await decompress(encoding, packed, LIMIT))).toBe(TEXT);
  });

  it.each([
    ["gzip", gzipSync(TEXT).subarray(0, 20)],
    ["gzip", new TextEncoder().encode(TEXT)],
    ["deflate", deflateRawSync(TEXT)],
  ] as const)("refuses damaged %s", async (encoding, packed) => {
    await expect(decompress(encoding, packed, LIMIT)).rejects.toMatchObject({ code: "INVALID_ARG" });
  });

  it("refuses what unpacks to more than is allowed", async () => {
    const bomb = gzipSync(new Uint8Array(50_000_000));
    await expect(decompress("gzip", bomb, 1000)).rejects.toThrow(/maximum allowed input size of 1000 bytes/);
  });
});
