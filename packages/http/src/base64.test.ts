import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeBase64 } from "./base64.ts";

describe("decodeBase64", () => {
  it("decodes what others encode, with or without padding", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) => {
        const text = Buffer.from(bytes).toString("base64");
        expect(Array.from(decodeBase64(text))).toEqual(Array.from(bytes));
        expect(Array.from(decodeBase64(text.replaceAll("=", "")))).toEqual(Array.from(bytes));
      }),
      { seed: 1 },
    );
  });

  it.each([
    ["", []],
    ["A", []],
    ["Y*W\nJ-j", [0x61, 0x62, 0x63]],
    ["YQ==YQ==", [0x61, 0x06, 0x10]],
    ["\u0159YQ\u{1f600}", [0x61]],
  ])("%j is skipped through", (text, bytes) => {
    expect(Array.from(decodeBase64(text))).toEqual(bytes);
  });
});
