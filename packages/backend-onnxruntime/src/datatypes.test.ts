import type { BytesTensor, Datatype } from "@naiad/protocol";
import { DATATYPES, encodeBytesElements } from "@naiad/protocol";
import * as ort from "onnxruntime-web";
import { describe, expect, it } from "vitest";
import { datatypeOf, decodeTexts, isSupported, numericTensor, tensorBytes } from "./datatypes.ts";

function textTensorOf(elements: readonly (string | Uint8Array)[]): BytesTensor {
  return {
    kind: "bytes",
    name: "TEXT",
    datatype: "BYTES",
    shape: [elements.length],
    bytes: encodeBytesElements(elements),
  };
}

describe("datatypes", () => {
  it("knows all of Triton's but BF16", () => {
    expect(DATATYPES.filter((datatype) => !isSupported(datatype))).toEqual(["BF16"]);
  });

  it("has no word for the engine's four-bit types", () => {
    expect(datatypeOf("uint4")).toBeUndefined();
    expect(datatypeOf("float16")).toBe("FP16");
  });
});

describe("numericTensor", () => {
  const eightBytes: readonly [Datatype, number][] = [
    ["BOOL", 8],
    ["UINT8", 8],
    ["INT8", 8],
    ["UINT16", 4],
    ["INT16", 4],
    ["FP16", 4],
    ["UINT32", 2],
    ["INT32", 2],
    ["FP32", 2],
    ["UINT64", 1],
    ["INT64", 1],
    ["FP64", 1],
  ];

  it.each(eightBytes)("keeps every bit of %s, aligned or not", (datatype, count) => {
    const content = Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8]);
    for (const offset of [0, 8, 3]) {
      const body = new Uint8Array(24);
      body.set(content, offset);
      if (datatype === "BYTES" || datatype === "BF16") throw new Error("not a number");
      const tensor = numericTensor(ort, datatype, [count], body.subarray(offset, offset + 8));
      expect(tensorBytes(tensor)).toEqual(content);
    }
  });

  it("copies nothing where the alignment allows it", () => {
    const body = new Uint8Array(24);
    const tensor = numericTensor(ort, "FP32", [2], body.subarray(8, 16));
    expect(tensorBytes(tensor).buffer).toBe(body.buffer);
  });

  it("reads half floats whatever array type the engine gives", () => {
    const words = Uint16Array.from([0x3c00, 0xc000]);
    expect(tensorBytes(new ort.Tensor("float16", words, [2]))).toEqual(Uint8Array.from([0, 0x3c, 0, 0xc0]));
  });
});

describe("decodeTexts", () => {
  it("keeps a byte order mark, empty texts and characters of every length", () => {
    const texts = ["", "\ufeffmarked", "aé漢😀"];
    expect(decodeTexts(textTensorOf(texts))).toEqual(texts);
  });

  it("refuses a NUL instead of cutting the text off there", () => {
    expect(() => decodeTexts(textTensorOf(["fine", "a\0b"]))).toThrow(
      "element 1 of inference input 'TEXT' contains a NUL byte, which would end it",
    );
  });

  it("refuses bytes that are not UTF-8", () => {
    expect(() => decodeTexts(textTensorOf([Uint8Array.of(0x61, 0xff)]))).toThrow(
      "element 0 of inference input 'TEXT' is not valid UTF-8",
    );
  });

  it("refuses an element that is cut off", () => {
    const tensor = textTensorOf(["whole"]);
    expect(() => decodeTexts({ ...tensor, bytes: tensor.bytes.subarray(0, 7) })).toThrow(
      "incomplete string data for tensor 'TEXT', expecting string of length 5 but only 3 bytes available",
    );
  });
});
