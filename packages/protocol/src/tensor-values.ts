import type { Datatype } from "./datatype.ts";
import { bytesOf } from "./elements.ts";
import { float32ToBf16, float32ToFp16 } from "./half-float.ts";
import type { NestedValues } from "./nested-values.ts";
import { encodeValues, flattenValues } from "./nested-values.ts";
import { InferenceError } from "./status.ts";
import type { BytesTensor } from "./tensor.ts";
import { elementCount } from "./tensor.ts";

/**
 * Content of a tensor as people write it: data in row-major order: a typed array, or numbers, bigints, booleans, strings or
 * `Uint8Array`s (one BYTES element each) in an array, flat or nested.
 */
export interface TensorContent {
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

/** What the tensor is to whoever reads an error about it. */
export type TensorNoun = "input" | "output" | "tensor";

/**
 * The tensor of that content. A typed array's own bytes are the tensor's, not copied, unless they must be converted. Throws
 * INVALID_ARG where datatype, shape and data do not fit together.
 */
export function tensorOf(name: string, content: TensorContent, noun: TensorNoun = "input"): BytesTensor {
  const { data } = content;
  const label = `${noun} '${name}'`;
  return ArrayBuffer.isView(data)
    ? { kind: "bytes", name, ...fromView(label, data, content) }
    : { kind: "bytes", name, ...fromValues(label, data, content) };
}

type Content = Pick<BytesTensor, "datatype" | "shape" | "bytes">;

function fromView(label: string, view: ArrayBufferView, { shape, datatype }: TensorContent): Content {
  const kind = viewKind(view);
  const possible = VIEW_DATATYPES.get(kind);
  if (possible === undefined) throw invalid(`${label} cannot be made of a ${kind}`);
  const [natural] = possible;
  if (datatype !== undefined && !possible.includes(datatype)) {
    throw invalid(`got unexpected datatype ${natural} from ${kind}, expected ${datatype} for ${label}`);
  }
  const elements = view as ArrayBufferView & { readonly length: number };
  return {
    datatype: datatype ?? natural,
    shape: checkedShape(label, shape ?? [elements.length], elements.length),
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

function fromValues(label: string, data: NestedValues, { shape, datatype }: TensorContent): Content {
  const { flat, nesting } = flattenValues(data);
  const wanted = shape ?? nesting;
  if (wanted === undefined) throw invalid(`the data of ${label} is nested unevenly, so it needs a shape`);
  const known = datatype ?? datatypeOf(label, flat[0]);
  return {
    datatype: known,
    shape: checkedShape(label, wanted, flat.length),
    bytes: encodeValues(label, known, flat),
  };
}

function datatypeOf(label: string, value: unknown): Datatype {
  if (typeof value === "string" || value instanceof Uint8Array) return "BYTES";
  if (typeof value === "boolean") return "BOOL";
  if (typeof value === "bigint") return "INT64";
  throw invalid(`${label} needs a datatype: plain numbers and empty arrays do not tell theirs`);
}

function checkedShape(label: string, shape: readonly number[], count: number): readonly number[] {
  const text = `[${shape.join(",")}]`;
  if (!shape.every((dim) => Number.isSafeInteger(dim) && dim >= 0)) {
    throw invalid(`shape ${text} of ${label} must consist of non-negative integers`);
  }
  if (elementCount(shape) !== count) {
    throw invalid(
      `got ${String(count)} elements for ${label}, expected ${String(elementCount(shape))} for shape ${text}`,
    );
  }
  return [...shape];
}

function invalid(message: string): InferenceError {
  return new InferenceError("INVALID_ARG", message);
}
