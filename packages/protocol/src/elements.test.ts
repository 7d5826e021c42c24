import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DATATYPES, elementByteSize } from "./datatype.ts";
import {
  bytesOf,
  countBytesElements,
  decodeBytesElements,
  decodeStringElements,
  encodeBytesElements,
  isFixedDatatype,
  newElements,
  typedElements,
} from "./elements.ts";
import { InferenceError } from "./status.ts";

describe("typedElements", () => {
  const fixed = DATATYPES.filter(isFixedDatatype);

  it.each(fixed)("views aligned %s and copies misaligned", (datatype) => {
    const size = elementByteSize(datatype);
    const buffer = Uint8Array.from({ length: 1 + 3 * size }, (_, index) => index);
    const aligned = typedElements(datatype, buffer.subarray(0, 3 * size));
    expect(aligned.length).toBe(3);
    expect(aligned.buffer).toBe(buffer.buffer);
    const misaligned = typedElements(datatype, buffer.subarray(1));
    expect(bytesOf(misaligned)).toEqual(buffer.slice(1));
    expect(misaligned.buffer === buffer.buffer).toBe(size === 1);
  });

  it("refuses a part of an element", () => {
    expect(() => typedElements("INT32", new Uint8Array(5))).toThrow("invariant");
  });

  it("makes zeroed arrays", () => {
    expect(newElements("INT64", 2)).toEqual(new BigInt64Array(2));
  });
});

describe("BYTES elements", () => {
  it("have a little-endian length before them", () => {
    expect(Array.from(encodeBytesElements(["aä", Uint8Array.of(0, 255), ""]))).toEqual([
      ...[3, 0, 0, 0, 0x61, 0xc3, 0xa4],
      ...[2, 0, 0, 0, 0, 255],
      ...[0, 0, 0, 0],
    ]);
  });

  it("come back as they were", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.uint8Array(), fc.string({ unit: "grapheme" }))), (elements) => {
        const bytes = encodeBytesElements(elements);
        const expected = elements.map((element) =>
          typeof element === "string" ? new TextEncoder().encode(element) : element,
        );
        expect(decodeBytesElements(bytes, "x").map((element) => Array.from(element))).toEqual(
          expected.map((element) => Array.from(element)),
        );
        expect(countBytesElements(bytes)).toBe(elements.length);
      }),
      { seed: 1 },
    );
  });

  it("decode as text, a byte order mark included", () => {
    expect(decodeStringElements(encodeBytesElements(["\ufeffx", "\0"]), "x")).toEqual(["\ufeffx", "\0"]);
    expect(decodeStringElements(Uint8Array.of(1, 0, 0, 0, 0xff), "x")).toEqual(["\ufffd"]);
  });

  it.each([
    [
      [1, 0, 0],
      "incomplete string length indicator for tensor 'x', expecting 4 bytes but only 3 bytes available.",
    ],
    [
      [3, 0, 0, 0, 1],
      "incomplete string data for tensor 'x', expecting string of length 3 but only 1 bytes available",
    ],
    [
      [255, 255, 255, 255],
      "incomplete string data for tensor 'x', expecting string of length 4294967295 but only 0 bytes available",
    ],
  ])("%j is cut off", (bytes, message) => {
    expect(() => decodeBytesElements(Uint8Array.from(bytes), "x")).toThrow(
      new InferenceError("INVALID_ARG", message),
    );
    expect(countBytesElements(Uint8Array.from(bytes))).toBeUndefined();
  });
});
