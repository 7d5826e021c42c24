import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import type { FixedDatatype } from "@naiad/protocol";
import { bytesOf, encodeBytesElements, InferenceError, isFixedDatatype, newElements } from "@naiad/protocol";
import { tryConfigDatatype } from "./config-datatype.ts";
import { onnxDataType } from "./onnx-tensors.ts";

/** A constant of a model: the content of one `TensorProto`. */
export interface OnnxInitializer {
  readonly name: string;
  /** Number in `TensorProto.DataType`; see `onnxDataType`. */
  readonly elementType: number;
  readonly shape: readonly number[];
  readonly content: OnnxInitializerContent;
}

export type OnnxInitializerContent =
  /** In the protocol's layout; may be a view on the model. */
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** A part of a file beside the model; without a length it reaches to the end. */
  | {
      readonly kind: "external";
      readonly location: string;
      readonly offset: number;
      readonly length: number | undefined;
    };

/** Field numbers of onnx.proto's TensorProto. */
const FIELD = {
  dims: 1,
  dataType: 2,
  floatData: 4,
  int32Data: 5,
  stringData: 6,
  int64Data: 7,
  name: 8,
  rawData: 9,
  doubleData: 10,
  uint64Data: 11,
  externalData: 13,
} as const;
const ENTRY = { key: 1, value: 2 } as const;

export function onnxInitializerName(tensor: Uint8Array): string {
  let name = "";
  const reader = new BinaryReader(tensor);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === FIELD.name && wireType === WireType.LengthDelimited) name = reader.string();
    else reader.skip(wireType, field);
  }
  return name;
}

/** INVALID_ARG for a type that the protocol has no word for. */
export function readOnnxInitializer(tensor: Uint8Array): OnnxInitializer {
  const reader = new BinaryReader(tensor);
  let name = "";
  let elementType = 0;
  const shape: number[] = [];
  let raw: Uint8Array | undefined;
  const texts: Uint8Array[] = [];
  const numbers: (number | bigint)[] = [];
  const external = new Map<string, string>();
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    switch (field) {
      case FIELD.dims:
        readNumbers(reader, wireType, () => shape.push(Number(reader.int64())));
        break;
      case FIELD.dataType:
        elementType = reader.int32();
        break;
      case FIELD.floatData:
        readNumbers(reader, wireType, () => numbers.push(reader.float()));
        break;
      case FIELD.int32Data:
        readNumbers(reader, wireType, () => numbers.push(reader.int32()));
        break;
      case FIELD.stringData:
        texts.push(reader.bytes());
        break;
      case FIELD.int64Data:
        readNumbers(reader, wireType, () => numbers.push(BigInt(reader.int64())));
        break;
      case FIELD.name:
        name = reader.string();
        break;
      case FIELD.rawData:
        raw = reader.bytes();
        break;
      case FIELD.doubleData:
        readNumbers(reader, wireType, () => numbers.push(reader.double()));
        break;
      case FIELD.uint64Data:
        readNumbers(reader, wireType, () => numbers.push(BigInt(reader.uint64())));
        break;
      case FIELD.externalData: {
        const [key, value] = readEntry(reader.bytes());
        external.set(key, value);
        break;
      }
      default:
        reader.skip(wireType, field);
    }
  }
  const content = externalContent(external) ?? {
    kind: "bytes",
    bytes: raw ?? encodeElements({ name, elementType, texts, numbers }),
  };
  return { name, elementType, shape, content };
}

/** A repeated number stands alone or packed with others. */
function readNumbers(reader: BinaryReader, wireType: WireType, readOne: () => unknown): void {
  if (wireType !== WireType.LengthDelimited) {
    readOne();
    return;
  }
  const byteLength = reader.uint32();
  const end = reader.pos + byteLength;
  while (reader.pos < end) readOne();
}

function readEntry(bytes: Uint8Array): readonly [key: string, value: string] {
  const reader = new BinaryReader(bytes);
  let key = "";
  let value = "";
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === ENTRY.key) key = reader.string();
    else if (field === ENTRY.value) value = reader.string();
    else reader.skip(wireType, field);
  }
  return [key, value];
}

function externalContent(entries: ReadonlyMap<string, string>): OnnxInitializerContent | undefined {
  const location = entries.get("location");
  if (location === undefined) return undefined;
  const length = entries.get("length");
  return {
    kind: "external",
    location,
    offset: Number(entries.get("offset") ?? "0"),
    length: length === undefined ? undefined : Number(length),
  };
}

interface TypedContent {
  readonly name: string;
  readonly elementType: number;
  readonly texts: readonly Uint8Array[];
  readonly numbers: readonly (number | bigint)[];
}

/**
 * Types narrower than 32 bits, FP16 and BOOL lie in ONNX's list of 32-bit integers, one element each, and UINT32 in that
 * of 64-bit ones.
 */
function encodeElements({ name, elementType, texts, numbers }: TypedContent): Uint8Array {
  const datatype = tryConfigDatatype(onnxDataType(elementType));
  if (datatype === undefined) {
    throw new InferenceError("INVALID_ARG", `initializer '${name}' has a type that Triton has no word for`);
  }
  if (!isFixedDatatype(datatype)) return encodeBytesElements(texts);
  return encodeNumbers(datatype, numbers);
}

function encodeNumbers(datatype: FixedDatatype, numbers: readonly (number | bigint)[]): Uint8Array {
  const elements = newElements(datatype, numbers.length);
  const isLarge = elements instanceof BigInt64Array || elements instanceof BigUint64Array;
  for (const [index, number] of numbers.entries())
    elements[index] = isLarge ? BigInt(number) : Number(number);
  return bytesOf(elements);
}
