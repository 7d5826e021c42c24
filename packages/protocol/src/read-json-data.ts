import { type Datatype, elementByteSize } from "./datatype.ts";
import { bytesOf, encodeBytesElements, type FixedDatatype, newElements } from "./elements.ts";
import {
  asBoolean,
  asDouble,
  asInteger,
  asString,
  asUnsigned,
  elementsOf,
  isArrayNode,
} from "./json-access.ts";
import { type JsonNode, type NestedNumbers, NumberArray, type NumberArrayContent } from "./json-node.ts";
import { InferenceError, unreachable } from "./status.ts";

export interface JsonDataShape {
  /** Of the tensor, for texts. */
  readonly name: string;
  readonly datatype: Exclude<Datatype, "FP16" | "BF16">;
  readonly elementCount: number;
  /** Bytes that the tensor may have. */
  readonly maxByteSize: number;
}

/**
 * Content of a tensor from its JSON `data`, flat or nested in any way: only the count is held against the shape, and for
 * BYTES not even that. Integers are cut to the width of their type without a range check, as Triton does.
 */
export function readJsonData(data: NumberArray | readonly JsonNode[], tensor: JsonDataShape): Uint8Array {
  if (tensor.datatype === "BYTES") return readStrings(data, tensor);
  checkJsonSize(tensor, tensor.elementCount * elementByteSize(tensor.datatype));
  return readNumbersAtOnce(data, tensor.datatype, tensor.elementCount) ?? readOneByOne(data, tensor);
}

/** INVALID_ARG with Triton's text for a tensor of more bytes than it may have. */
export function checkJsonSize(
  tensor: Pick<JsonDataShape, "name" | "maxByteSize">,
  byteSize: number | bigint,
): void {
  if (byteSize > tensor.maxByteSize) {
    throw new InferenceError(
      "INVALID_ARG",
      `JSON input '${tensor.name}' has a byte_size (${String(byteSize)} bytes) that exceeds the maximum allowed value of ` +
        `${String(tensor.maxByteSize)} bytes. Use --http-max-input-size to increase the limit.`,
    );
  }
}

const DATA = "Unable to parse 'data'";

function shapeMismatch(): InferenceError {
  return new InferenceError("INTERNAL", `${DATA}: Shape does not match true shape of 'data' field`);
}

// ---------------------------------------------------------------------------------------------------------------
// BYTES

function readStrings(data: NumberArray | readonly JsonNode[], tensor: JsonDataShape): Uint8Array {
  const strings: string[] = [];
  collectStrings(data, strings);
  const bytes = encodeBytesElements(strings);
  checkJsonSize(tensor, bytes.length);
  return bytes;
}

function collectStrings(node: JsonNode, strings: string[]): void {
  if (isArrayNode(node)) for (const element of elementsOf(node)) collectStrings(element, strings);
  else strings.push(asString(node, "Unable to parse JSON bytes array"));
}

// ---------------------------------------------------------------------------------------------------------------
// Everything else

/** For an array that is known to hold the right number of the right kind of numbers; otherwise `undefined`. */
function readNumbersAtOnce(
  data: NumberArray | readonly JsonNode[],
  datatype: Exclude<FixedDatatype, "FP16" | "BF16">,
  elementCount: number,
): Uint8Array | undefined {
  if (!(data instanceof NumberArray) || data.content.count !== elementCount) return undefined;
  const { literals, hasNegative } = data.content;
  switch (datatype) {
    case "BOOL":
      return undefined;
    case "FP32":
    case "FP64": {
      const elements = newElements(datatype, elementCount);
      copyAll(data.content, elements);
      return bytesOf(elements);
    }
    case "INT8":
    case "INT16":
    case "INT32":
    case "INT64":
      if (literals !== "integers") return undefined;
      break;
    case "UINT8":
    case "UINT16":
    case "UINT32":
    case "UINT64":
      if (literals !== "integers" || hasNegative) return undefined;
      break;
    default:
      return unreachable(datatype);
  }
  if (datatype === "INT64" || datatype === "UINT64") {
    const halves = newElements("INT32", 2 * elementCount);
    copyWideIntegers(data.content.values, halves, 0);
    return bytesOf(halves);
  }
  const elements = newElements(datatype, elementCount);
  copyAll(data.content, elements);
  return bytesOf(elements);
}

type NumberElements =
  Int8Array | Int16Array | Int32Array | Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array;

function copyAll({ values, isFlat }: NumberArrayContent, target: NumberElements): void {
  // A flat array holds numbers only. (Integers that do not fit are cut in the same way as one by one.)
  if (isFlat) target.set(values as readonly number[]);
  else copyNumbers(values, target, 0);
}

/** Row-major; returns the offset after the last element. */
function copyNumbers(values: NestedNumbers, target: NumberElements, offset: number): number {
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? 0;
    if (typeof value === "number") target[offset++] = value;
    else offset = copyNumbers(value, target, offset);
  }
  return offset;
}

/** Safe integers as 64-bit two's complement: low and high half. `offset` counts halves. */
function copyWideIntegers(values: NestedNumbers, target: Int32Array, offset: number): number {
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? 0;
    if (typeof value === "number") {
      target[offset++] = value;
      target[offset++] = Math.floor(value / 2 ** 32);
    } else {
      offset = copyWideIntegers(value, target, offset);
    }
  }
  return offset;
}

function readOneByOne(data: NumberArray | readonly JsonNode[], tensor: JsonDataShape): Uint8Array {
  const { datatype, elementCount } = tensor;
  if (datatype === "BYTES") throw new Error("BYTES has no fixed-size elements");
  const { bytes, write } = elementWriter(datatype, elementCount);
  let count = 0;
  const visit = (node: JsonNode): void => {
    if (isArrayNode(node)) {
      for (const element of elementsOf(node)) visit(element);
    } else {
      if (count >= elementCount) throw shapeMismatch();
      write(count++, node);
    }
  };
  visit(data);
  if (count !== elementCount) throw shapeMismatch();
  return bytes;
}

interface ElementWriter {
  readonly bytes: Uint8Array;
  readonly write: (index: number, node: JsonNode) => void;
}

function elementWriter(datatype: Exclude<FixedDatatype, "FP16" | "BF16">, count: number): ElementWriter {
  switch (datatype) {
    case "BOOL": {
      const elements = newElements(datatype, count);
      return { bytes: elements, write: (index, node) => (elements[index] = asBoolean(node, DATA) ? 1 : 0) };
    }
    case "UINT8":
    case "UINT16":
    case "UINT32": {
      const elements = newElements(datatype, count);
      return {
        bytes: bytesOf(elements),
        write: (index, node) => (elements[index] = lowBits(asUnsigned(node, DATA))),
      };
    }
    case "INT8":
    case "INT16":
    case "INT32": {
      const elements = newElements(datatype, count);
      return {
        bytes: bytesOf(elements),
        write: (index, node) => (elements[index] = lowBits(asInteger(node, DATA))),
      };
    }
    case "UINT64": {
      const elements = newElements(datatype, count);
      return {
        bytes: bytesOf(elements),
        write: (index, node) => (elements[index] = BigInt(asUnsigned(node, DATA))),
      };
    }
    case "INT64": {
      const elements = newElements(datatype, count);
      return {
        bytes: bytesOf(elements),
        write: (index, node) => (elements[index] = BigInt(asInteger(node, DATA))),
      };
    }
    case "FP32":
    case "FP64": {
      const elements = newElements(datatype, count);
      return { bytes: bytesOf(elements), write: (index, node) => (elements[index] = asDouble(node, DATA)) };
    }
    default:
      return unreachable(datatype);
  }
}

/** A number whose low 32 bits are those of the integer; storing it in a narrow array cuts off the rest. */
function lowBits(value: number | bigint): number {
  return typeof value === "bigint" ? Number(BigInt.asIntN(32, value)) : value;
}
