import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { decodeBytesElements } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { byteSourceOf } from "./byte-source.ts";
import { extractInitializers } from "./extract-initializers.ts";
import type { OnnxInitializer } from "./onnx-initializer.ts";
import { readOnnxModel } from "./onnx-model.ts";

type Write = (writer: BinaryWriter) => BinaryWriter;
const field =
  (number: number, content: Uint8Array): Write =>
  (writer) =>
    writer.tag(number, WireType.LengthDelimited).bytes(content);
const text = (number: number, value: string): Write => field(number, new TextEncoder().encode(value));
const integer =
  (number: number, value: number): Write =>
  (writer) =>
    writer.tag(number, WireType.Varint).int64(value);
const message = (...fields: readonly Write[]): Uint8Array =>
  fields.reduce((writer, write) => write(writer), new BinaryWriter()).finish();

/** Field numbers: 1 dims, 2 type, 4 floats, 5 32-bit integers, 6 texts, 7 and 11 64-bit integers, 8 name, 9 raw, 13 external. */
const tensor = (name: string, elementType: number, ...rest: readonly Write[]): Uint8Array =>
  message(integer(2, elementType), ...rest, text(8, name));
const modelOf = (...tensors: readonly Uint8Array[]): Uint8Array =>
  message(
    integer(1, 8),
    text(2, "producer"),
    field(
      7,
      message(text(2, "graph"), ...tensors.map((bytes) => field(5, bytes)), field(11, message(text(1, "x")))),
    ),
    text(6, "after the graph"),
  );

function only(bytes: Uint8Array): OnnxInitializer {
  const { initializers } = extractInitializers(modelOf(bytes), new Set(["w"]));
  expect(initializers).toHaveLength(1);
  const [initializer] = initializers;
  if (initializer === undefined) throw new Error("no initializer");
  return initializer;
}

function contentOf(bytes: Uint8Array): Uint8Array {
  const { content } = only(bytes);
  if (content.kind !== "bytes") throw new Error(`content is ${content.kind}`);
  return content.bytes;
}

describe("extractInitializers", () => {
  it("takes out the named ones and leaves the rest byte for byte", async () => {
    const [w, v] = [tensor("w", 1, integer(1, 2)), tensor("v", 1)];
    const { model, initializers } = extractInitializers(modelOf(w, v), new Set(["w"]));
    expect(model).toEqual(modelOf(v));
    expect(initializers).toMatchObject([{ name: "w", elementType: 1, shape: [2] }]);
    expect((await readOnnxModel(byteSourceOf(model))).initializerNames).toEqual(new Set(["v"]));
  });

  it("refuses a name that no initializer has", () => {
    expect(() => extractInitializers(modelOf(tensor("v", 1)), new Set(["w"]))).toThrow(
      "failed to read ONNX model: there is no initializer 'w'",
    );
  });

  it("reads raw content as it is", () => {
    const raw = new Uint8Array([1, 0, 0, 0]);
    expect(contentOf(tensor("w", 6, field(9, raw)))).toEqual(raw);
  });

  it.each<readonly [string, number, Write, ArrayBufferView]>([
    [
      "packed floats",
      1,
      (writer) =>
        writer.tag(4, WireType.LengthDelimited).bytes(new Uint8Array(new Float32Array([1.5, -2]).buffer)),
      new Float32Array([1.5, -2]),
    ],
    [
      "a float that stands alone",
      1,
      (writer) => writer.tag(4, WireType.Bit32).float(0.5),
      new Float32Array([0.5]),
    ],
    [
      "half floats as integers",
      10,
      (writer) => writer.tag(5, WireType.LengthDelimited).bytes(Uint8Array.of(0x80, 0x78)),
      new Uint16Array([0x3c00]),
    ],
    ["booleans as integers", 9, (writer) => writer.tag(5, WireType.Varint).int32(1), new Uint8Array([1])],
    [
      "signed bytes as integers",
      3,
      (writer) => writer.tag(5, WireType.Varint).int32(-3),
      new Int8Array([-3]),
    ],
    ["64-bit integers", 7, (writer) => writer.tag(7, WireType.Varint).int64(-5), new BigInt64Array([-5n])],
    [
      "32-bit integers without a sign as 64-bit ones",
      12,
      (writer) => writer.tag(11, WireType.Varint).uint64(0xffff_ffff),
      new Uint32Array([0xffff_ffff]),
    ],
    ["doubles", 11, (writer) => writer.tag(10, WireType.Bit64).double(0.1), new Float64Array([0.1])],
  ])("reads %s", (_, elementType, write, expected) => {
    expect(contentOf(tensor("w", elementType, write))).toEqual(new Uint8Array(expected.buffer));
  });

  it("reads texts into the protocol's layout", () => {
    const elements = decodeBytesElements(contentOf(tensor("w", 8, text(6, "a"), text(6, ""))), "w");
    expect(elements.map((element) => new TextDecoder().decode(element))).toEqual(["a", ""]);
  });

  it("tells where content lies that the model keeps elsewhere", () => {
    const entry = (key: string, value: string): Write => field(13, message(text(1, key), text(2, value)));
    const rest = [entry("location", "w.bin"), entry("offset", "64"), entry("length", "8")];
    expect(only(tensor("w", 1, ...rest)).content).toEqual({
      kind: "external",
      location: "w.bin",
      offset: 64,
      length: 8,
    });
    expect(only(tensor("w", 1, entry("location", "w.bin"))).content).toEqual({
      kind: "external",
      location: "w.bin",
      offset: 0,
      length: undefined,
    });
  });
});
