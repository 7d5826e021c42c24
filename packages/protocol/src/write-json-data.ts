import type { ByteWriter } from "./byte-writer.ts";
import { decodeStringElements, typedElements } from "./elements.ts";
import { formatDouble, quoteJson } from "./json.ts";
import { InferenceError, unreachable } from "./status.ts";
import type { BytesTensor } from "./tensor.ts";

/** Elements per call of the engine's JSON writer: enough to be fast, few enough to stay in the cache. */
const CHUNK = 4096;

/**
 * Writes a tensor's content as one flat JSON array: floats with a fraction or an exponent, 64-bit integers exact, BYTES
 * as strings. The bytes must fit the datatype. Throws INVALID_ARG for FP16 and BF16, which JSON does not carry.
 */
export function writeJsonData(writer: ByteWriter, tensor: BytesTensor): void {
  writer.text("[");
  writeJsonElements(writer, tensor);
  writer.text("]");
}

/** The same without the brackets around it. */
export function writeJsonElements(writer: ByteWriter, tensor: BytesTensor): void {
  const { datatype, bytes } = tensor;
  switch (datatype) {
    case "FP32":
    case "FP64":
      writeDoubles(writer, typedElements(datatype, bytes));
      return;
    case "INT8":
    case "INT16":
    case "INT32":
    case "UINT8":
    case "UINT16":
    case "UINT32":
      writeIntegers(writer, typedElements(datatype, bytes));
      return;
    case "INT64":
      writeWideIntegers(writer, {
        halves: typedElements("INT32", bytes),
        exact: typedElements(datatype, bytes),
      });
      return;
    case "UINT64":
      writeWideIntegers(writer, {
        halves: typedElements("UINT32", bytes),
        exact: typedElements(datatype, bytes),
      });
      return;
    case "BOOL":
      writer.text(Array.from(bytes, (byte) => (byte === 0 ? "false" : "true")).join(","));
      return;
    case "BYTES":
      writer.text(decodeStringElements(bytes, tensor.name).map(quoteJson).join(","));
      return;
    case "FP16":
    case "BF16":
      throw new InferenceError(
        "INVALID_ARG",
        `sending ${datatype} data via JSON is not supported. Please use the binary data format for output ${tensor.name}`,
      );
    default:
      return unreachable(datatype);
  }
}

type IntegerArray = Int8Array | Int16Array | Int32Array | Uint8Array | Uint16Array | Uint32Array;

const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const RIGHT_BRACKET = 0x5d;
const LOWER_E = 0x65;
const LOWER_N = 0x6e;

/** Sign and ten digits. */
const MAX_INTEGER_LENGTH = 11;

function writeIntegers(writer: ByteWriter, elements: IntegerArray): void {
  for (let start = 0; start < elements.length; start += CHUNK) {
    const end = Math.min(elements.length, start + CHUNK);
    const target = writer.reserve(CHUNK * (MAX_INTEGER_LENGTH + 1));
    let length = 0;
    for (let index = start; index < end; index++) {
      if (index > 0) target[length++] = COMMA;
      length = putInteger(target, length, elements[index] ?? 0);
    }
    writer.advance(length);
  }
}

interface WideIntegers {
  /** Low and high half of each element in turn, signed where the element is. */
  readonly halves: Int32Array | Uint32Array;
  readonly exact: BigInt64Array | BigUint64Array;
}

/** Sign and twenty digits. */
const MAX_WIDE_LENGTH = 21;
/** Up to here `putInteger` divides exactly. */
const MAX_FAST_INTEGER = 1e12;

function writeWideIntegers(writer: ByteWriter, { halves, exact }: WideIntegers): void {
  for (let start = 0; start < exact.length; start += CHUNK) {
    const end = Math.min(exact.length, start + CHUNK);
    const target = writer.reserve(CHUNK * (MAX_WIDE_LENGTH + 1));
    let length = 0;
    for (let index = start; index < end; index++) {
      if (index > 0) target[length++] = COMMA;
      const value = (halves[2 * index + 1] ?? 0) * 2 ** 32 + ((halves[2 * index] ?? 0) >>> 0);
      if (value < MAX_FAST_INTEGER && value > -MAX_FAST_INTEGER) {
        length = putInteger(target, length, value);
      } else {
        length += UTF8.encodeInto(String(exact[index]), target.subarray(length)).written;
      }
    }
    writer.advance(length);
  }
}

/** Writes an integer of less than `MAX_FAST_INTEGER`, signed or not; returns the offset after it. */
function putInteger(target: Uint8Array, offset: number, value: number): number {
  if (value < 0) target[offset++] = MINUS;
  let rest = value < 0 ? -value : value;
  const end = offset + digitCount(rest);
  for (let at = end - 1; at >= offset; at--) {
    const tenth = Math.floor(rest / 10);
    target[at] = ZERO + rest - 10 * tenth;
    rest = tenth;
  }
  return end;
}

function digitCount(value: number): number {
  let count = 1;
  for (let bound = 10; value >= bound; bound *= 10) count++;
  return count;
}

const UTF8 = new TextEncoder();

function writeDoubles(writer: ByteWriter, elements: Float32Array | Float64Array): void {
  for (let start = 0; start < elements.length; start += CHUNK) {
    if (start > 0) writer.text(",");
    writeDoubleChunk(writer, elements.subarray(start, start + CHUNK));
  }
}

function writeDoubleChunk(writer: ByteWriter, elements: Float32Array | Float64Array): void {
  const values: number[] = [];
  let fractions = 0;
  let smallIntegers = 0;
  for (let index = 0; index < elements.length; index++) {
    const value = elements[index] ?? 0;
    if (isNegativeZero(value)) {
      // JavaScript's JSON drops the sign; NaN becomes `null`, which says that the text is ours to write.
      values.push(NaN);
    } else {
      values.push(value);
      if (Math.trunc(value) !== value) fractions++;
      else if (value < 1e9 && value > -1e9) smallIntegers++;
    }
  }
  if (smallIntegers === elements.length) {
    writeSmallIntegers(writer, elements);
  } else {
    const json = JSON.stringify(values);
    // A number with a fraction looks the same in JavaScript's JSON and in rapidjson's. (NaN has no integral part either.)
    if (fractions === elements.length && !json.includes("n")) writer.text(json.slice(1, -1));
    else writeAsDoubles(writer, json, elements);
  }
}

function isNegativeZero(value: number): boolean {
  return value === 0 && 1 / value < 0;
}

function writeSmallIntegers(writer: ByteWriter, elements: Float32Array | Float64Array): void {
  const target = writer.reserve(elements.length * (MAX_INTEGER_LENGTH + 3));
  let length = 0;
  for (let index = 0; index < elements.length; index++) {
    if (index > 0) target[length++] = COMMA;
    length = putInteger(target, length, elements[index] ?? 0);
    target[length++] = DOT;
    target[length++] = ZERO;
  }
  writer.advance(length);
}

/**
 * Copies JavaScript's JSON of `elements`, without its brackets, and turns each number into a double's text: `1` into
 * `1.0`, `1e+30` into `1e30`, and `null` into the NaN, infinity or negative zero that it stands for.
 */
function writeAsDoubles(writer: ByteWriter, json: string, elements: Float32Array | Float64Array): void {
  const source = UTF8.encode(json);
  // A number grows by the two bytes of `.0`, `null` by the five that `-Infinity` has more.
  const target = writer.reserve(source.length + 5 * elements.length);
  let length = 0;
  let index = 0;
  let isInteger = true;
  for (let at = 1; at < source.length; at++) {
    const byte = source[at] ?? 0;
    if (byte >= ZERO && byte <= NINE) {
      target[length++] = byte;
    } else if (byte === COMMA || byte === RIGHT_BRACKET) {
      if (isInteger) {
        target[length++] = DOT;
        target[length++] = ZERO;
      }
      if (byte === COMMA) target[length++] = COMMA;
      isInteger = true;
      index++;
    } else if (byte === LOWER_N) {
      const text = formatDouble(elements[index] ?? NaN);
      length += UTF8.encodeInto(text, target.subarray(length)).written;
      isInteger = false;
      // The rest of `null`.
      at += 3;
    } else if (byte !== PLUS) {
      if (byte === DOT || byte === LOWER_E) isInteger = false;
      target[length++] = byte;
    }
  }
  writer.advance(length);
}
