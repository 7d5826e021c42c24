import { gunzipSync, inflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { compress } from "./compress.ts";

const BYTES = new TextEncoder().encode("again and ".repeat(200));

describe("compress", () => {
  it.each([
    ["gzip", gunzipSync],
    ["deflate", inflateSync],
  ] as const)("packs %s", async (encoding, unpack) => {
    const view = new Uint8Array([0, ...BYTES, 0]).subarray(1, -1);
    const packed = await compress(encoding, view);
    expect(packed.length).toBeLessThan(BYTES.length / 4);
    expect(new Uint8Array(unpack(packed))).toEqual(BYTES);
  });

  it("packs nothing into a valid body", async () => {
    expect(gunzipSync(await compress("gzip", new Uint8Array(0))).length).toBe(0);
  });
});
