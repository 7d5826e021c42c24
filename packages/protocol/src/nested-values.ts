import type { Datatype } from "./datatype.ts";
import type { FixedDatatype } from "./elements.ts";
import { bytesOf, encodeBytesElements } from "./elements.ts";
import { float32ToBf16, float32ToFp16 } from "./half-float.ts";
import { InferenceError } from "./status.ts";

export type TensorValue = number | bigint | boolean | string | Uint8Array;
export type NestedValues = readonly (TensorValue | NestedValues)[];

export interface FlatValues {
  readonly flat: readonly TensorValue[];
  /** The shape that the nesting spells, `undefined` where it is uneven. */
  readonly nesting: readonly number[] | undefined;
}

export function flattenValues(values: NestedValues): FlatValues {
  if (!values.some(isNested)) {
    // Just checked.
    return { flat: values as readonly TensorValue[], nesting: [values.length] };
  }
  const parts = values.map((value) => (isNested(value) ? flattenValues(value) : undefined));
  const [first] = parts;
  const isEven = parts.every((part) => part !== undefined && sameShape(part.nesting, first?.nesting));
  return {
    flat: parts.flatMap((part, index) => part?.flat ?? [values[index] as TensorValue]),
    nesting: isEven && first?.nesting !== undefined ? [values.length, ...first.nesting] : undefined,
  };
}

function isNested(value: TensorValue | NestedValues): value is NestedValues {
  return Array.isArray(value);
}

function sameShape(a: readonly number[] | undefined, b: readonly number[] | undefined): boolean {
  return a !== undefined && a.length === b?.length && a.every((dim, index) => dim === b[index]);
}

/** Content of a tensor of `datatype`, which errors call `label`. Throws INVALID_ARG for a value that the datatype cannot hold. */
export function encodeValues(label: string, datatype: Datatype, values: readonly TensorValue[]): Uint8Array {
  if (datatype === "BYTES") {
    return encodeBytesElements(
      values.map((value) => {
        if (typeof value === "string" || value instanceof Uint8Array) return value;
        throw misfit(label, datatype, value);
      }),
    );
  }
  return bytesOf(encodeFixed(label, datatype, values));
}

function encodeFixed(
  label: string,
  datatype: FixedDatatype,
  values: readonly TensorValue[],
): ArrayBufferView {
  const integers = (min: number, max: number): number[] =>
    values.map((value) => {
      const number = typeof value === "bigint" ? Number(value) : value;
      if (typeof number === "number" && Number.isInteger(number) && number >= min && number <= max)
        return number;
      throw misfit(label, datatype, value);
    });
  const longs = (fits: (value: bigint) => boolean): bigint[] =>
    values.map((value) => {
      const long = typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value;
      if (typeof long === "bigint" && fits(long)) return long;
      throw misfit(label, datatype, value);
    });
  const floats = (): number[] =>
    values.map((value) => {
      if (typeof value === "number") return value;
      throw misfit(label, datatype, value);
    });
  const booleans = (): number[] =>
    values.map((value) => {
      if (typeof value === "boolean") return Number(value);
      throw misfit(label, datatype, value);
    });
  switch (datatype) {
    case "BOOL":
      return Uint8Array.from(booleans());
    case "INT8":
      return Int8Array.from(integers(-(2 ** 7), 2 ** 7 - 1));
    case "INT16":
      return Int16Array.from(integers(-(2 ** 15), 2 ** 15 - 1));
    case "INT32":
      return Int32Array.from(integers(-(2 ** 31), 2 ** 31 - 1));
    case "INT64":
      return BigInt64Array.from(longs((value) => BigInt.asIntN(64, value) === value));
    case "UINT8":
      return Uint8Array.from(integers(0, 2 ** 8 - 1));
    case "UINT16":
      return Uint16Array.from(integers(0, 2 ** 16 - 1));
    case "UINT32":
      return Uint32Array.from(integers(0, 2 ** 32 - 1));
    case "UINT64":
      return BigUint64Array.from(longs((value) => BigInt.asUintN(64, value) === value));
    case "FP16":
      return float32ToFp16(Float32Array.from(floats()));
    case "BF16":
      return float32ToBf16(Float32Array.from(floats()));
    case "FP32":
      return Float32Array.from(floats());
    case "FP64":
      return Float64Array.from(floats());
  }
}

function misfit(label: string, datatype: Datatype, value: TensorValue): InferenceError {
  const text =
    typeof value === "object" ? "bytes" : typeof value === "string" ? JSON.stringify(value) : String(value);
  return new InferenceError("INVALID_ARG", `${label} of datatype ${datatype} cannot hold ${text}`);
}
