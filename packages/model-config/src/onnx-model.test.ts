import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InferenceError } from "@naiad/protocol";
import type { ByteSource } from "./byte-source.ts";
import { byteSourceOf } from "./byte-source.ts";
import { readOnnxModel } from "./onnx-model.ts";

type Bytes = readonly number[];

function varint(value: number | bigint): Bytes {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  return [...bytes, Number(rest)];
}
const integer = (number: number, value: number | bigint): Bytes => [...varint(number << 3), ...varint(value)];
const message = (number: number, ...parts: readonly Bytes[]): Bytes => {
  const body = parts.flat();
  return [...varint((number << 3) | 2), ...varint(body.length), ...body];
};
const text = (number: number, value: string): Bytes => message(number, [...new TextEncoder().encode(value)]);

/** Dimensions of a value: number, name, or null for none. */
type Dims = readonly (number | string | null)[];
const dim = (value: Dims[number]): Bytes =>
  message(1, value === null ? [] : typeof value === "number" ? integer(1, value) : text(2, value));
const tensorType = (elementType: number, dims?: Dims): Bytes =>
  message(1, integer(1, elementType), ...(dims === undefined ? [] : [message(2, ...dims.map(dim))]));
const value = (number: number, name: string, ...type: readonly Bytes[]): Bytes =>
  message(number, text(1, name), message(2, ...type));
const initializer = (number: number, name: string, ...rest: readonly Bytes[]): Bytes =>
  message(number, integer(1, 2), integer(2, 1), ...rest, text(8, name));
const external = (location: string): Bytes =>
  [text(1, "location"), text(2, location)].reduce<Bytes>((entry, part) => [...entry, ...part], []);
const model = (irVersion: number, ...graph: readonly Bytes[]): Uint8Array =>
  Uint8Array.from([
    ...integer(1, irVersion),
    ...text(2, "producer"),
    ...message(7, ...graph),
    ...message(8, text(1, ""), integer(2, 21)),
    ...message(8, text(1, "ai.onnx.ml"), integer(2, 3)),
  ]);
const read = (bytes: Uint8Array) => readOnnxModel(byteSourceOf(bytes));

describe("readOnnxModel", () => {
  it("reads versions, inputs and outputs", async () => {
    const bytes = model(
      9,
      value(11, "x", tensorType(1, ["N", 3, null, -1, ""])),
      value(11, "scalar", tensorType(7, [])),
      value(11, "any", tensorType(8)),
      value(12, "y", tensorType(6, [0])),
    );
    expect(await read(bytes)).toEqual({
      irVersion: 9,
      opsets: [
        { domain: "", version: 21 },
        { domain: "ai.onnx.ml", version: 3 },
      ],
      inputs: [
        {
          name: "x",
          type: { kind: "tensor", elementType: 1, shape: ["N", 3, undefined, undefined, undefined] },
        },
        { name: "scalar", type: { kind: "tensor", elementType: 7, shape: [] } },
        { name: "any", type: { kind: "tensor", elementType: 8, shape: undefined } },
      ],
      overridableInitializers: [],
      outputs: [{ name: "y", type: { kind: "tensor", elementType: 6, shape: [0] } }],
      initializerNames: new Set(),
      externalFiles: [],
    });
  });

  it("tells values that are no tensors", async () => {
    const kinds = [
      [4, "sequence"],
      [5, "map"],
      [7, "opaque"],
      [8, "sparse-tensor"],
      [9, "optional"],
    ] as const;
    const { outputs } = await read(
      model(
        9,
        ...kinds.map(([number, name]) => value(12, name, message(number))),
        message(12, text(1, "bare")),
      ),
    );
    expect(outputs).toEqual([
      ...kinds.map(([, kind]) => ({ name: kind, type: { kind } })),
      { name: "bare", type: { kind: "unknown" } },
    ]);
  });

  it("sets apart the inputs that an initializer stands in for", async () => {
    const graph = [
      value(11, "x", tensorType(1, [1])),
      value(11, "w", tensorType(1, [2])),
      value(11, "s", tensorType(1, [2])),
      initializer(5, "w"),
      message(15, initializer(1, "s"), initializer(2, "")),
      initializer(5, "hidden"),
    ];
    const names = (values: readonly { readonly name: string }[]): readonly string[] =>
      values.map(({ name }) => name);
    const modern = await read(model(4, ...graph));
    expect(names(modern.inputs)).toEqual(["x"]);
    expect(names(modern.overridableInitializers)).toEqual(["w", "s"]);
    expect([...modern.initializerNames].sort()).toEqual(["hidden", "s", "w"]);
    const old = await read(model(3, ...graph));
    expect(names(old.inputs)).toEqual(["x"]);
    expect(old.overridableInitializers).toEqual([]);
  });

  it("finds external files in initializers, attributes, nested graphs and functions", async () => {
    const weights = (location: string): Bytes => message(13, external(location));
    const length = message(13, text(1, "length"), text(2, "12"));
    const bytes = Uint8Array.from([
      ...model(
        9,
        initializer(5, "a", weights("a.bin"), length),
        initializer(5, "b", weights("a.bin")),
        message(1, text(4, "Constant"), message(5, text(1, "value"), initializer(5, "", weights("b.bin")))),
        message(
          1,
          text(4, "If"),
          message(5, text(1, "then_branch"), message(6, initializer(5, "inner", weights("c.bin")))),
        ),
        message(
          1,
          message(
            5,
            initializer(10, "", weights("d.bin")),
            message(22, initializer(1, "", weights("e.bin"))),
          ),
        ),
      ),
      ...message(25, text(1, "function"), message(7, message(5, initializer(5, "", weights("f.bin"))))),
    ]);
    const result = await read(bytes);
    expect(result.externalFiles).toEqual(["a.bin", "b.bin", "c.bin", "d.bin", "e.bin", "f.bin"]);
    expect([...result.initializerNames]).toEqual(["a", "b"]);
  });

  it("steps over weights without reading them", async () => {
    const weights = new Uint8Array(3_000_000);
    const head = [...varint((9 << 3) | 2), ...varint(weights.length)];
    const name = text(8, "w");
    const tensorLength = head.length + weights.length + name.length;
    const tensorHead = [...varint((5 << 3) | 2), ...varint(tensorLength)];
    const output = value(12, "y", tensorType(1, [1]));
    const graphHead = [...varint((7 << 3) | 2), ...varint(tensorHead.length + tensorLength + output.length)];
    const bytes = new Uint8Array([...graphHead, ...tensorHead, ...head, ...weights, ...name, ...output]);
    const reads: number[] = [];
    const source: ByteSource = {
      size: bytes.length,
      read: (offset, length) => {
        reads.push(length);
        return Promise.resolve(bytes.subarray(offset, offset + length));
      },
    };
    expect(await readOnnxModel(source)).toMatchObject({
      outputs: [{ name: "y" }],
      initializerNames: new Set(["w"]),
    });
    expect(reads.reduce((sum, length) => sum + length, 0)).toBeLessThan(40_000);
  });

  it.each([
    ["nothing", [], /there is no graph in it: this is not an ONNX file, it is empty$/],
    [
      "a page",
      [...new TextEncoder().encode("<!doctype html>")],
      /^failed to read ONNX model: field 7 has an unknown wire type \(at byte 0\): this is not an ONNX file, it is an HTML page/,
    ],
    [
      "a pointer",
      [...new TextEncoder().encode("version https://git-lfs.github.com/spec/v1")],
      /\(at byte 0\): this is not an ONNX file, it is a Git LFS pointer; get the file itself with 'git lfs pull'$/,
    ],
    ["other bytes", [0xff, 0xff], /\(at byte 0\): this is not an ONNX file, or not a whole one$/],
    ["what goes wrong later", [0x08, 1, 0xff], /a number is cut off \(at byte 2\)$/],
    [
      "a cut message",
      [...varint((7 << 3) | 2), 100, 0],
      /field 7 of 100 bytes reaches beyond its message \(at byte 0\)/,
    ],
    ["a cut number", [0x08, 0x80], /a number is cut off \(at byte 1\)/],
    ["a number without end", [0x08, ...Array<number>(11).fill(0xff)], /more than ten bytes/],
    ["field zero", [0x00, 0x00], /no field begins with 0/],
    ["a group", [0x0b], /field 1 has an unknown wire type/],
    ["a cut fixed number", [0x0d, 1, 2], /a number is cut off/],
    ["a name that is a number", message(7, message(11, integer(1, 5))), /field 1 is no text/],
  ] as const)("refuses %s", async (_what, bytes, reason) => {
    const reading = read(Uint8Array.from(bytes));
    await expect(reading).rejects.toBeInstanceOf(InferenceError);
    await expect(reading).rejects.toThrow(reason);
  });

  it("refuses a name that is no name", async () => {
    const bytes = model(9, value(11, "x".repeat(1_100_000), tensorType(1)));
    await expect(read(bytes)).rejects.toThrow(/a name of 1100000 bytes/);
  });

  it("refuses graphs that are nested without end", async () => {
    let graph: Bytes = [];
    for (let depth = 0; depth < 200; depth += 1) graph = message(1, message(5, message(6, graph)));
    await expect(read(model(9, graph))).rejects.toThrow(
      "failed to read ONNX model: graphs are nested too deep",
    );
  });

  it("notices a source that ends before its size", async () => {
    const bytes = model(9, value(11, "x", tensorType(1)));
    const source: ByteSource = { ...byteSourceOf(bytes), size: bytes.length + 50 };
    await expect(readOnnxModel(source)).rejects.toThrow(/at byte/);
  });

  it("passes on the error of its source", async () => {
    const source: ByteSource = { size: 10, read: () => Promise.reject(new Error("disk on fire")) };
    await expect(readOnnxModel(source)).rejects.toThrow("disk on fire");
  });

  it("ends with a model or an InferenceError on any bytes", async () => {
    const valid = model(
      9,
      value(11, "x", tensorType(1, ["N", 3])),
      initializer(5, "w", message(13, external("w.bin"))),
      message(1, message(5, message(6, value(12, "y", tensorType(1, [1]))))),
    );
    const damaged = fc
      .array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
      .map((changes) => {
        const bytes = valid.slice();
        for (const [at, byte] of changes) bytes[at] = byte;
        return bytes;
      });
    const cut = fc.nat(valid.length).map((length) => valid.slice(0, length));
    await fc.assert(
      fc.asyncProperty(fc.oneof(damaged, cut, fc.uint8Array({ maxLength: 200 })), async (bytes) => {
        const outcome = await read(bytes).catch((thrown: unknown) => thrown);
        expect(outcome instanceof InferenceError || !(outcome instanceof Error)).toBe(true);
      }),
      { seed: 2026, numRuns: 3000 },
    );
  });
});
