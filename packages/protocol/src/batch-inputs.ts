import { bytesOf } from "./elements.ts";
import { unreachable } from "./status.ts";
import { type BytesTensor, elementCount } from "./tensor.ts";

/**
 * What an input of a model can tell about the batch that it is executed with (`batch_input` of a configuration). Shapes
 * are those of the source input in each request, batch dimension first.
 */
export type BatchInputKind =
  /** Elements of each request. */
  | "BATCH_ELEMENT_COUNT"
  /** Elements of each request and all before it. */
  | "BATCH_ACCUMULATED_ELEMENT_COUNT"
  /** The same with a zero in front. */
  | "BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO"
  /** A tensor of as many elements as the largest request has; its content means nothing. */
  | "BATCH_MAX_ELEMENT_COUNT_AS_SHAPE"
  /** A row for each item of the batch with its shape, without the batch dimension. */
  | "BATCH_ITEM_SHAPE"
  /** The same rows in one dimension. */
  | "BATCH_ITEM_SHAPE_FLATTEN";

export interface BatchInputTarget {
  readonly name: string;
  readonly kind: BatchInputKind;
  readonly datatype: "INT32" | "FP32";
}

/** The tensor that a batch input gets for requests with these shapes of its source; its buffer belongs to the caller. */
export function batchInputTensor(
  { name, kind, datatype }: BatchInputTarget,
  shapes: readonly (readonly number[])[],
): BytesTensor {
  const { shape, values } = batchInputValues(kind, shapes);
  const elements = datatype === "INT32" ? Int32Array.from(values) : Float32Array.from(values);
  return { kind: "bytes", name, datatype, shape, bytes: bytesOf(elements) };
}

function batchInputValues(
  kind: BatchInputKind,
  shapes: readonly (readonly number[])[],
): { readonly shape: readonly number[]; readonly values: readonly number[] } {
  const counts = shapes.map(elementCount);
  switch (kind) {
    case "BATCH_ELEMENT_COUNT":
      return flat(counts);
    case "BATCH_ACCUMULATED_ELEMENT_COUNT":
      return flat(accumulated(counts));
    case "BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO":
      return flat([0, ...accumulated(counts)]);
    case "BATCH_MAX_ELEMENT_COUNT_AS_SHAPE":
      return flat(new Array<number>(Math.max(0, ...counts)).fill(0));
    case "BATCH_ITEM_SHAPE": {
      const items = itemShapes(shapes);
      return { shape: [items.length, shapes[0]?.slice(1).length ?? 0], values: items.flat() };
    }
    case "BATCH_ITEM_SHAPE_FLATTEN":
      return flat(itemShapes(shapes).flat());
    default:
      return unreachable(kind);
  }
}

function flat(values: readonly number[]): {
  readonly shape: readonly number[];
  readonly values: readonly number[];
} {
  return { shape: [values.length], values };
}

function accumulated(counts: readonly number[]): readonly number[] {
  let sum = 0;
  return counts.map((count) => (sum += count));
}

function itemShapes(shapes: readonly (readonly number[])[]): readonly (readonly number[])[] {
  return shapes.flatMap(([items = 0, ...dims]) => new Array<readonly number[]>(items).fill(dims));
}
