import { ByteWriter } from "./byte-writer.ts";
import { type Datatype, elementByteSize } from "./datatype.ts";
import { InferenceError, invariant } from "./status.ts";

/** The array type that holds each fixed-size datatype; BOOL is one byte, FP16 and BF16 are raw 16-bit patterns. */
export interface ElementArrays {
  BOOL: Uint8Array;
  UINT8: Uint8Array;
  UINT16: Uint16Array;
  UINT32: Uint32Array;
  UINT64: BigUint64Array;
  INT8: Int8Array;
  INT16: Int16Array;
  INT32: Int32Array;
  INT64: BigInt64Array;
  FP16: Uint16Array;
  FP32: Float32Array;
  FP64: Float64Array;
  BF16: Uint16Array;
}

export type FixedDatatype = keyof ElementArrays;
export type ElementArray = ElementArrays[FixedDatatype];

const CONSTRUCTORS: {
  readonly [Type in FixedDatatype]: new (
    buffer: ArrayBufferLike,
    byteOffset: number,
    length: number,
  ) => ElementArrays[Type];
} = {
  BOOL: Uint8Array,
  UINT8: Uint8Array,
  UINT16: Uint16Array,
  UINT32: Uint32Array,
  UINT64: BigUint64Array,
  INT8: Int8Array,
  INT16: Int16Array,
  INT32: Int32Array,
  INT64: BigInt64Array,
  FP16: Uint16Array,
  FP32: Float32Array,
  FP64: Float64Array,
  BF16: Uint16Array,
};

/**
 * The content of a fixed-size tensor as a typed array: a view on the same buffer where the alignment allows, else a view
 * on a fresh copy. (Every engine that runs this code is little-endian, like the protocol.)
 */
export function typedElements<Type extends FixedDatatype>(
  datatype: Type,
  bytes: Uint8Array,
): ElementArrays[Type] {
  const size = elementByteSize(datatype);
  invariant(bytes.length % size === 0, `${bytes.length} bytes are no whole number of ${datatype} elements`);
  // `slice` of a Node.js buffer is no copy.
  const aligned = bytes.byteOffset % size === 0 ? bytes : new Uint8Array(bytes);
  return new CONSTRUCTORS[datatype](aligned.buffer, aligned.byteOffset, bytes.length / size);
}

/** A zeroed array of `length` elements with a buffer of its own. */
export function newElements<Type extends FixedDatatype>(datatype: Type, length: number): ElementArrays[Type] {
  return typedElements(datatype, new Uint8Array(length * elementByteSize(datatype)));
}

/** The bytes under a view, not copied. */
export function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

export function isFixedDatatype(datatype: Datatype): datatype is FixedDatatype {
  return datatype !== "BYTES";
}

/** Content of a BYTES tensor: each element after its length. Strings become UTF-8. */
export function encodeBytesElements(elements: readonly (string | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  const writer = new ByteWriter(16 * elements.length);
  for (const element of elements) {
    if (typeof element === "string") {
      writer.prefixedText(element);
    } else {
      writer.uint32(element.length);
      writer.bytes(element);
    }
  }
  return writer.view().slice();
}

/**
 * The elements of a BYTES tensor, as views. Throws INVALID_ARG when a length prefix or an element is cut off; `name`
 * stands in the text.
 */
export function decodeBytesElements(bytes: Uint8Array, name: string): Uint8Array[] {
  const elements: Uint8Array[] = [];
  for (let offset = 0; offset < bytes.length;) {
    const end = bytesElementEnd(bytes, offset, name);
    elements.push(bytes.subarray(offset + 4, end));
    offset = end;
  }
  return elements;
}

const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** The elements of a BYTES tensor as text; bytes that are no UTF-8 become U+FFFD. Throws as `decodeBytesElements`. */
export function decodeStringElements(bytes: Uint8Array, name: string): string[] {
  return decodeBytesElements(bytes, name).map((element) => UTF8.decode(element));
}

/** How many elements the content of a BYTES tensor holds; `undefined` when one is cut off. */
export function countBytesElements(bytes: Uint8Array): number | undefined {
  let count = 0;
  let offset = 0;
  while (offset + 4 <= bytes.length) {
    offset += 4 + lengthAt(bytes, offset);
    count++;
  }
  return offset === bytes.length ? count : undefined;
}

/** Where the element that begins at `offset` (with its length) ends. Throws INVALID_ARG when it is cut off. */
export function bytesElementEnd(bytes: Uint8Array, offset: number, name: string): number {
  const available = bytes.length - offset;
  if (available < 4) {
    throw new InferenceError(
      "INVALID_ARG",
      `incomplete string length indicator for tensor '${name}', expecting 4 bytes but only ${String(available)} bytes available.`,
    );
  }
  const length = lengthAt(bytes, offset);
  if (length > available - 4) {
    throw new InferenceError(
      "INVALID_ARG",
      `incomplete string data for tensor '${name}', expecting string of length ${String(length)} but only ${String(available - 4)} bytes available`,
    );
  }
  return offset + 4 + length;
}

/** The little-endian uint32 at `offset`, of which all four bytes must be there. */
function lengthAt(bytes: Uint8Array, offset: number): number {
  const [b0 = 0, b1 = 0, b2 = 0, b3 = 0] = [
    bytes[offset],
    bytes[offset + 1],
    bytes[offset + 2],
    bytes[offset + 3],
  ];
  return (b0 | (b1 << 8) | (b2 << 16) | (b3 << 24)) >>> 0;
}
