import type { Datatype } from "./datatype.ts";
import { encodeBytesElements, typedElements } from "./elements.ts";
import { InferenceError } from "./status.ts";
import { type BytesTensor, elementCount } from "./tensor.ts";

export interface ClassificationOptions {
  /** How many of the best classes, at least 1. */
  readonly classCount: number;
  /** Whether the first dimension is the batch, or the whole tensor one item. */
  readonly batching: "batched" | "single";
  /** Label by class index; an index without one, or with an empty one, is written without. */
  readonly labels?: readonly string[];
}

const MAX_ITEM_ELEMENTS = 1_000_000;

/**
 * The `classification` extension: instead of an output the best classes of each item, best first, as BYTES elements
 * `value:index` or `value:index:label`. Equal values keep the order of their indices; NaN comes last. Throws INVALID_ARG
 * for datatypes that have no order and for items of more than a million elements.
 */
export function classifyOutput(output: BytesTensor, options: ClassificationOptions): BytesTensor {
  const values = orderedElements(output);
  const { batching, labels = [] } = options;
  const batchDims = batching === "batched" ? output.shape.slice(0, 1) : [];
  const itemSize = elementCount(output.shape.slice(batchDims.length));
  if (itemSize > MAX_ITEM_ELEMENTS) {
    throw new InferenceError("INVALID_ARG", "classification output tensor too large");
  }
  const classCount = Math.min(options.classCount, itemSize);
  const elements: string[] = [];
  for (let item = 0; item < elementCount(batchDims); item++) {
    const scores = values.slice(item * itemSize, (item + 1) * itemSize);
    for (const index of bestIndices(scores, classCount)) {
      const label = labels[index] ?? "";
      elements.push(
        `${valueText(scores[index] ?? 0, output.datatype)}:${String(index)}${label && `:${label}`}`,
      );
    }
  }
  return {
    kind: "bytes",
    name: output.name,
    datatype: "BYTES",
    shape: [...batchDims, classCount],
    bytes: encodeBytesElements(elements),
  };
}

type Scores =
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

function orderedElements(output: BytesTensor): Scores {
  const { datatype, bytes } = output;
  switch (datatype) {
    case "BOOL":
    case "FP16":
    case "BF16":
    case "BYTES":
      throw new InferenceError(
        "INVALID_ARG",
        `class result not available for output due to unsupported type '${datatype}'`,
      );
    default:
      return typedElements(datatype, bytes);
  }
}

function bestIndices(scores: Scores, count: number): readonly number[] {
  const indices = Array.from({ length: scores.length }, (_, index) => index);
  // The sort is stable, so equal values keep their order.
  indices.sort((left, right) => descending(scores[left] ?? 0, scores[right] ?? 0));
  return indices.slice(0, count);
}

function descending(left: number | bigint, right: number | bigint): number {
  if (left > right) return -1;
  if (left < right) return 1;
  return Number(Number.isNaN(left)) - Number(Number.isNaN(right));
}

function valueText(value: number | bigint, datatype: Datatype): string {
  const isFloat = datatype === "FP32" || datatype === "FP64";
  return typeof value === "number" && isFloat ? sixDecimals(value) : String(value);
}

/** A double with six decimals as C's printf writes it. */
function sixDecimals(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value < 0 ? "-inf" : "inf";
  if (Object.is(value, -0)) return "-0.000000";
  // From here on `toFixed` would use an exponent; all such doubles are integers.
  if (Math.abs(value) >= 1e21) return `${String(BigInt(value))}.000000`;
  const text = value.toFixed(6);
  return isDecimalTie(value) ? roundedToEven(text) : text;
}

/** Whether the value lies exactly between two numbers of six decimals: only odd multiples of 1/128 do. */
function isDecimalTie(value: number): boolean {
  return Number.isInteger(value * 128) && (value * 128) % 2 !== 0;
}

/** `toFixed` rounds a tie away from zero; C takes the even neighbour. */
function roundedToEven(text: string): string {
  const last = Number(text.at(-1));
  return last % 2 === 0 ? text : text.slice(0, -1) + String(last - 1);
}
