import type { BytesTensor, Datatype } from "@naiad/protocol";
import { InferenceError, bytesOf, elementCount, float32ToBf16, float32ToFp16 } from "@naiad/protocol";
import type { NestedValues } from "./nested-values.ts";
import { encodeValues, flattenValues } from "./nested-values.ts";

/**
 * One input of an inference. Data in row-major order: a typed array, or numbers, bigints, booleans, strings or
 * `Uint8Array`s (one BYTES element each) in an array, flat or nested.
 */
export interface InferInput {
  readonly data: ArrayBufferView | NestedValues;
  /** Absent: the nesting of `data`, or one dimension. */
  readonly shape?: readonly number[];
  /**
   * Absent: follows from the typed array, or BOOL for booleans, BYTES for strings and `Uint8Array`s, INT64 for bigints. Plain
   * numbers need it. A `Float32Array` is also taken for FP16 (rounded) and BF16 (cut off, as Triton's own client does), a
   * `Uint16Array` for the bit patterns of both, a `Uint8Array` for BOOL.
   */
  readonly datatype?: Datatype;
}

/** What each typed array may stand for; the first is meant where nothing is said. */
const VIEW_DATATYPES: ReadonlyMap<string, readonly [Datatype, ...Datatype[]]> = new Map([
  ["Float64Array", ["FP64"]],
  ["Float32Array", ["FP32", "FP16", "BF16"]],
  ["Float16Array", ["FP16"]],
  ["BigInt64Array", ["INT64"]],
  ["Int32Array", ["INT32"]],
  ["Int16Array", ["INT16"]],
  ["Int8Array", ["INT8"]],
  ["BigUint64Array", ["UINT64"]],
  ["Uint32Array", ["UINT32"]],
  ["Uint16Array", ["UINT16", "FP16", "BF16"]],
  ["Uint8Array", ["UINT8", "BOOL"]],
  ["Uint8ClampedArray", ["UINT8", "BOOL"]],
]);

/**
 * The input as a tensor. A typed array's own bytes are the tensor's, not copied, unless they must be converted. Throws
 * INVALID_ARG where datatype, shape and data do not fit together.
 */
export function tensorOf(name: string, input: InferInput): BytesTensor {
  const { data } = input;
  return ArrayBuffer.isView(data) ? fromView(name, data, input) : fromValues(name, data, input);
}

function fromView(name: string, view: ArrayBufferView, { shape, datatype }: InferInput): BytesTensor {
  const kind = viewKind(view);
  const possible = VIEW_DATATYPES.get(kind);
  if (possible === undefined) throw invalid(`input '${name}' cannot be made of a ${kind}`);
  const [natural] = possible;
  if (datatype !== undefined && !possible.includes(datatype)) {
    throw invalid(
      `got unexpected datatype ${natural} from ${kind}, expected ${datatype} for input '${name}'`,
    );
  }
  const elements = view as ArrayBufferView & { readonly length: number };
  return {
    kind: "bytes",
    name,
    datatype: datatype ?? natural,
    shape: checkedShape(name, shape ?? [elements.length], elements.length),
    bytes: bytesOf(converted(view, datatype)),
  };
}

function converted(view: ArrayBufferView, datatype: Datatype | undefined): ArrayBufferView {
  if (!(view instanceof Float32Array)) return view;
  if (datatype === "FP16") return float32ToFp16(view);
  return datatype === "BF16" ? float32ToBf16(view) : view;
}

/** The class of a typed array by its tag: `Float16Array` has no name in every engine, and arrays may come from a frame. */
function viewKind(view: ArrayBufferView): string {
  return Object.prototype.toString.call(view).slice("[object ".length, -1);
}

function fromValues(name: string, data: NestedValues, { shape, datatype }: InferInput): BytesTensor {
  const { flat, nesting } = flattenValues(data);
  const wanted = shape ?? nesting;
  if (wanted === undefined)
    throw invalid(`the data of input '${name}' is nested unevenly, so it needs a shape`);
  const known = datatype ?? datatypeOf(name, flat[0]);
  return {
    kind: "bytes",
    name,
    datatype: known,
    shape: checkedShape(name, wanted, flat.length),
    bytes: encodeValues(name, known, flat),
  };
}

function datatypeOf(name: string, value: unknown): Datatype {
  if (typeof value === "string" || value instanceof Uint8Array) return "BYTES";
  if (typeof value === "boolean") return "BOOL";
  if (typeof value === "bigint") return "INT64";
  throw invalid(`input '${name}' needs a datatype: plain numbers and empty arrays do not tell theirs`);
}

function checkedShape(name: string, shape: readonly number[], count: number): readonly number[] {
  const text = `[${shape.join(",")}]`;
  if (!shape.every((dim) => Number.isSafeInteger(dim) && dim >= 0)) {
    throw invalid(`shape ${text} of input '${name}' must consist of non-negative integers`);
  }
  if (elementCount(shape) !== count) {
    throw invalid(
      `got ${String(count)} elements for input '${name}', expected ${String(elementCount(shape))} for shape ${text}`,
    );
  }
  return [...shape];
}

function invalid(message: string): InferenceError {
  return new InferenceError("INVALID_ARG", message);
}
