import type { BytesTensor, Datatype, Tensor } from "@naiad/protocol";
import {
  bf16ToFloat32,
  decodeBytesElements,
  fp16ToFloat32,
  isFixedDatatype,
  typedElements,
} from "@naiad/protocol";

export type Comparison =
  | { readonly kind: "equal" }
  /** What differs and by how much, to follow "its results ...: ". */
  | { readonly kind: "different"; readonly text: string };

/**
 * How far a number may lie from the expected one: the sum of three parts. Devices add up in another order and have their
 * own exponential functions, so a deep network differs by some 1e-4 of its largest value; kernels that are wrong differ
 * by about as much as the values themselves.
 */
interface Tolerance {
  readonly absolute: number;
  /** Times the expected number. */
  readonly relative: number;
  /** Times the largest finite number of the expected output. */
  readonly ofLargest: number;
}

const SINGLE: Tolerance = { absolute: 1e-5, relative: 1e-2, ofLargest: 1e-3 };
const HALF: Tolerance = { absolute: 1e-3, relative: 5e-2, ofLargest: 1e-2 };
/** Quantised numbers may be rounded the other way, layer after layer. */
const QUANTISED: Tolerance = { absolute: 2, relative: 0, ofLargest: 0 };
const EXACT: Tolerance = { absolute: 0, relative: 0, ofLargest: 0 };

const TOLERANCES: Readonly<Record<Exclude<Datatype, "BYTES">, Tolerance>> = {
  FP64: SINGLE,
  FP32: SINGLE,
  FP16: HALF,
  BF16: HALF,
  INT8: QUANTISED,
  UINT8: QUANTISED,
  INT16: EXACT,
  UINT16: EXACT,
  INT32: EXACT,
  UINT32: EXACT,
  INT64: EXACT,
  UINT64: EXACT,
  BOOL: EXACT,
};

/** Holds the outputs of one device against those of another for the same inputs. Tells the first output that differs. */
export function compareOutputs(expected: readonly Tensor[], actual: readonly Tensor[]): Comparison {
  for (const tensor of expected) {
    const text = describeDifference(
      tensor,
      actual.find(({ name }) => name === tensor.name),
    );
    if (text !== undefined) return { kind: "different", text: `output '${tensor.name}' ${text}` };
  }
  return { kind: "equal" };
}

function describeDifference(expected: Tensor, actual: Tensor | undefined): string | undefined {
  if (actual === undefined) return "is missing";
  if (actual.datatype !== expected.datatype)
    return `has datatype ${actual.datatype} instead of ${expected.datatype}`;
  if (actual.shape.join() !== expected.shape.join()) {
    return `has shape [${actual.shape.join(",")}] instead of [${expected.shape.join(",")}]`;
  }
  // A tensor that stayed on its device cannot be looked at.
  if (expected.kind === "device" || actual.kind === "device") return undefined;
  const { datatype } = expected;
  return isFixedDatatype(datatype)
    ? describeNumbers(numbersOf(expected), numbersOf(actual), TOLERANCES[datatype])
    : describeTexts(expected, actual);
}

function describeNumbers(
  expected: ArrayLike<number | bigint>,
  actual: ArrayLike<number | bigint>,
  tolerance: Tolerance,
): string | undefined {
  const base = tolerance.absolute + tolerance.ofLargest * largestOf(expected, tolerance);
  let worst = { excess: 0, text: "" };
  for (let index = 0; index < expected.length; index += 1) {
    if (isSame(expected[index], actual[index])) continue;
    const [wanted, had] = [Number(expected[index]), Number(actual[index])];
    const allowed = base + tolerance.relative * Math.abs(wanted);
    const difference = Math.abs(had - wanted);
    // Infinity or NaN on one side only: nothing is worse.
    const isNumber = Number.isFinite(wanted) && Number.isFinite(had);
    const excess = isNumber ? difference - allowed : Number.POSITIVE_INFINITY;
    if (excess <= worst.excess) continue;
    const text = isNumber
      ? `differs by ${shortly(difference)} at element ${index}, where ${shortly(allowed)} is allowed`
      : `has ${shortly(had)} at element ${index} instead of ${shortly(wanted)}`;
    worst = { excess, text };
  }
  return worst.excess > 0 ? worst.text : undefined;
}

/** Only where it matters: exact types are not looked through twice. */
function largestOf(numbers: ArrayLike<number | bigint>, { ofLargest }: Tolerance): number {
  let largest = 0;
  if (ofLargest === 0) return largest;
  for (let index = 0; index < numbers.length; index += 1) {
    const size = Math.abs(Number(numbers[index]));
    if (size > largest && size < Number.POSITIVE_INFINITY) largest = size;
  }
  return largest;
}

function describeTexts(expected: BytesTensor, actual: BytesTensor): string | undefined {
  const [wanted, had] = [expected, actual].map(({ name, bytes }) => decodeBytesElements(bytes, name));
  const index = (wanted ?? []).findIndex((text, position) => text.join() !== had?.[position]?.join());
  return index === -1 ? undefined : `differs at element ${index}`;
}

function numbersOf({ datatype, bytes }: BytesTensor): ArrayLike<number | bigint> {
  switch (datatype) {
    case "FP16":
      return fp16ToFloat32(typedElements("FP16", bytes));
    case "BF16":
      return bf16ToFloat32(typedElements("BF16", bytes));
    case "BYTES":
      return [];
    default:
      return typedElements(datatype, bytes);
  }
}

function isSame(left: number | bigint | undefined, right: number | bigint | undefined): boolean {
  return left === right || (Number.isNaN(left) && Number.isNaN(right));
}

function shortly(value: number): string {
  return String(Number(value.toPrecision(3)));
}
