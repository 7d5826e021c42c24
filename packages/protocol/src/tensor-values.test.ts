import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeBytesElements, typedElements } from "./elements.ts";
import { fp16ToFloat32 } from "./half-float.ts";
import type { TensorContent } from "./tensor-values.ts";
import { tensorOf } from "./tensor-values.ts";
import { elementCount } from "./tensor.ts";

const text = (tensor: { readonly bytes: Uint8Array }) =>
  decodeBytesElements(tensor.bytes, "X").map((element) => new TextDecoder().decode(element));

describe("a tensor made of values", () => {
  it.each([
    [new Float64Array(2), "FP64"],
    [new Float32Array(2), "FP32"],
    [new BigInt64Array(2), "INT64"],
    [new Int32Array(2), "INT32"],
    [new Int16Array(2), "INT16"],
    [new Int8Array(2), "INT8"],
    [new BigUint64Array(2), "UINT64"],
    [new Uint32Array(2), "UINT32"],
    [new Uint16Array(2), "UINT16"],
    [new Uint8Array(2), "UINT8"],
    [new Uint8ClampedArray(2), "UINT8"],
  ] as const)("takes its datatype from the typed array %#", (data, datatype) => {
    const tensor = tensorOf("X", { data });
    expect(tensor).toMatchObject({ kind: "bytes", name: "X", datatype, shape: [2] });
    expect(tensor.bytes.buffer).toBe(data.buffer);
    expect(tensor.bytes.byteLength).toBe(data.byteLength);
  });

  it("knows a Float16Array by its tag, also where the engine has none", () => {
    class Float16Stub extends Uint16Array {
      override get [Symbol.toStringTag](): "Uint16Array" {
        return "Float16Array" as "Uint16Array";
      }
    }
    expect(tensorOf("X", { data: new Float16Stub(3) }).datatype).toBe("FP16");
  });

  it("is a view on the caller's part of a buffer", () => {
    const data = new Float32Array([1, 2, 3, 4]).subarray(1, 3);
    const { bytes } = tensorOf("X", { data, shape: [1, 2] });
    expect([bytes.byteOffset, bytes.byteLength]).toEqual([4, 8]);
  });

  it("converts floats to the 16-bit types", () => {
    const data = new Float32Array([1.5, -2, 65504]);
    const half = tensorOf("X", { data, datatype: "FP16" });
    expect([...fp16ToFloat32(typedElements("FP16", half.bytes))]).toEqual([1.5, -2, 65504]);
    expect([...tensorOf("X", { data: [1.5], datatype: "FP16" }).bytes]).toEqual([0, 0x3e]);
    expect([...tensorOf("X", { data: new Float32Array([1]), datatype: "BF16" }).bytes]).toEqual([0x80, 0x3f]);
    expect([...tensorOf("X", { data: new Uint16Array([0x3e00]), datatype: "FP16" }).bytes]).toEqual([
      0, 0x3e,
    ]);
  });

  it("takes its shape from nesting", () => {
    const data = [
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
    ];
    const tensor = tensorOf("X", { data, datatype: "INT32" });
    expect(tensor.shape).toEqual([1, 2, 3]);
    expect([...typedElements("INT32", tensor.bytes)]).toEqual([1, 2, 3, 4, 5, 6]);
    expect(tensorOf("X", { data: [[], []], datatype: "FP32" }).shape).toEqual([2, 0]);
  });

  it("holds only the count against a shape that is given", () => {
    const nested = [
      [1, 2],
      [3, [4]],
    ];
    expect(tensorOf("X", { data: nested, datatype: "INT8", shape: [4, 1] }).shape).toEqual([4, 1]);
    expect(() => tensorOf("X", { data: nested, datatype: "INT8" })).toThrow("nested unevenly");
  });

  it("makes BYTES of strings and bytes, with NUL, non-ASCII and empty ones", () => {
    const strings = ["", "a\0b", "größe 漢字 🎈"];
    const tensor = tensorOf("X", { data: [...strings, new Uint8Array([0xff])] });
    expect([tensor.datatype, tensor.shape]).toEqual(["BYTES", [4]]);
    expect(text(tensor).slice(0, 3)).toEqual(strings);
    expect([...tensor.bytes.subarray(-5)]).toEqual([1, 0, 0, 0, 0xff]);
  });

  it("keeps 64-bit integers exact", () => {
    const data = [2n ** 63n - 1n, -(2n ** 63n), 7];
    const tensor = tensorOf("X", { data });
    expect(tensor.datatype).toBe("INT64");
    expect([...typedElements("INT64", tensor.bytes)]).toEqual([2n ** 63n - 1n, -(2n ** 63n), 7n]);
    const unsigned = tensorOf("X", { data: [2n ** 64n - 1n], datatype: "UINT64" });
    expect([...typedElements("UINT64", unsigned.bytes)]).toEqual([2n ** 64n - 1n]);
  });

  it("makes BOOL of booleans", () => {
    const tensor = tensorOf("X", { data: [[true], [false]] });
    expect([tensor.datatype, tensor.shape, [...tensor.bytes]]).toEqual(["BOOL", [2, 1], [1, 0]]);
    expect(tensorOf("X", { data: new Uint8Array([1]), datatype: "BOOL" }).datatype).toBe("BOOL");
  });

  it("encodes whatever a datatype can hold, and only that", () => {
    const ranges = [
      ["INT8", -128, 127],
      ["UINT8", 0, 255],
      ["INT16", -32768, 32767],
      ["UINT16", 0, 65535],
      ["INT32", -(2 ** 31), 2 ** 31 - 1],
      ["UINT32", 0, 2 ** 32 - 1],
    ] as const;
    fc.assert(
      fc.property(
        fc.constantFrom(...ranges),
        fc.array(fc.integer({ min: -(2 ** 33), max: 2 ** 33 })),
        (range, values) => {
          const [datatype, min, max] = range;
          const encode = () => typedElements(datatype, tensorOf("X", { data: values, datatype }).bytes);
          if (values.every((value) => value >= min && value <= max)) expect([...encode()]).toEqual(values);
          else expect(encode).toThrow("cannot hold");
        },
      ),
      { seed: 7 },
    );
  });

  it("flattens any nesting in row-major order", () => {
    const shapes = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(shapes, (shape) => {
        const tensor = tensorOf("X", { data: nest(shape, { next: 0 }), datatype: "INT32" });
        expect(tensor.shape).toEqual(shape);
        const expected = Array.from({ length: elementCount(shape) }, (_, index) => index);
        expect([...typedElements("INT32", tensor.bytes)]).toEqual(expected);
      }),
      { seed: 7 },
    );
  });

  it.each<[string, TensorContent]>([
    [
      "got 3 elements for input 'X', expected 4 for shape [2,2]",
      { data: new Float32Array(3), shape: [2, 2] },
    ],
    ["got 1 elements for input 'X', expected 0 for shape [0]", { data: ["a"], shape: [0] }],
    [
      "got unexpected datatype FP64 from Float64Array, expected FP32 for input 'X'",
      { data: new Float64Array(1), datatype: "FP32" },
    ],
    ["input 'X' needs a datatype", { data: [1, 2] }],
    ["input 'X' needs a datatype", { data: [] }],
    ["input 'X' cannot be made of a DataView", { data: new DataView(new ArrayBuffer(4)) }],
    [
      "shape [-1] of input 'X' must consist of non-negative integers",
      { data: [1], datatype: "FP32", shape: [-1] },
    ],
    [
      "shape [1.5] of input 'X' must consist of non-negative integers",
      { data: [1], datatype: "FP32", shape: [1.5] },
    ],
    ["input 'X' of datatype INT32 cannot hold 1.5", { data: [1.5], datatype: "INT32" }],
    ["input 'X' of datatype INT64 cannot hold 9007199254740992", { data: [2 ** 53], datatype: "INT64" }],
    ["input 'X' of datatype UINT64 cannot hold -1", { data: [-1n], datatype: "UINT64" }],
    ["input 'X' of datatype FP32 cannot hold \"1\"", { data: ["1"], datatype: "FP32" }],
    ["input 'X' of datatype BYTES cannot hold 1", { data: ["a", 1] }],
    ["input 'X' of datatype BOOL cannot hold 1", { data: [true, 1] }],
    ["input 'X' of datatype INT8 cannot hold bytes", { data: [new Uint8Array(1)], datatype: "INT8" }],
  ])("says %s", (message, input) => {
    const build = () => tensorOf("X", input);
    expect(build).toThrow(message);
    expect(build).toThrow(expect.objectContaining({ code: "INVALID_ARG" }) as Error);
  });
});

type Nest = number | readonly Nest[];

function nest(shape: readonly number[], counter: { next: number }): readonly Nest[] {
  const [length = 0, ...rest] = shape;
  return Array.from({ length }, () => (rest.length === 0 ? counter.next++ : nest(rest, counter)));
}
