import type { BytesTensor, JsonValue, NestedValues } from "@naiad/protocol";
import {
  countBytesElements,
  elementCount,
  encodeBytesElements,
  InferenceError,
  tensorByteSize,
  tensorOf,
} from "@naiad/protocol";
import type { EntryTensor } from "./input-data.ts";
import type { PerfTensor } from "./perf-model.ts";

/** One row of what is told of a tensor, without a batch dimension. INVALID_ARG, which says `where`, for what does not fit. */
export function entryRow(
  { datatype, name, shape: usual }: PerfTensor,
  { content, shape: own }: EntryTensor,
  shapes: Readonly<Record<string, readonly number[]>>,
  where: string,
): BytesTensor {
  const declared = own ?? shapes[name] ?? usual;
  if (content.kind === "values") {
    const flat = flatten(content.values);
    const shape = filledShape(declared, flat.length, `${where}.${name}`);
    // JSON's values are those that a tensor's can be, or the next line refuses them.
    return tensorOf(name, { data: flat as NestedValues, shape, datatype });
  }
  const raw = Uint8Array.from(atob(content.text), (character) => character.charCodeAt(0));
  const isOneString =
    datatype === "BYTES" && countBytesElements(raw) !== elementCount(declared.map(Math.abs));
  const bytes = isOneString ? encodeBytesElements([raw]) : raw;
  const count =
    datatype === "BYTES"
      ? (countBytesElements(bytes) ?? 0)
      : bytes.length / (tensorByteSize(datatype, []) ?? 1);
  return { kind: "bytes", name, datatype, shape: filledShape(declared, count, `${where}.${name}`), bytes };
}

/** One variable size follows from the number of elements. */
function filledShape(shape: readonly number[], count: number, where: string): readonly number[] {
  const known = elementCount(shape.filter((dim) => dim >= 0));
  const filled = shape.map((dim) => (dim < 0 ? count / known : dim));
  const isWhole = filled.every((dim) => Number.isInteger(dim));
  if (shape.filter((dim) => dim < 0).length > 1) {
    throw invalid(`${where} needs a 'shape': that of the model is [${shape.join(",")}]`);
  }
  if (isWhole && elementCount(filled) === count) return filled;
  throw invalid(`${where} has ${count} elements, which do not fit the shape [${shape.join(",")}]`);
}

function flatten(value: JsonValue): readonly JsonValue[] {
  if (!Array.isArray(value)) return [value];
  return (value as readonly JsonValue[]).flatMap(flatten);
}

function invalid(message: string): InferenceError {
  return new InferenceError("INVALID_ARG", message);
}
