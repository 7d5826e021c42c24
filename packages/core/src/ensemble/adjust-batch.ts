import type { Tensor } from "@naiad/protocol";

/** Where a tensor goes: a composing model or the ensemble's own response. */
export interface TensorReader {
  /** Without the batch dimension. */
  readonly dims: readonly number[];
  readonly batches: boolean;
}

/**
 * The tensor as its reader wants it, if only one side has a batch dimension: one of 1 is put in front for a reader that
 * batches, or taken away for one that does not. What fits as it is stays so, such as a batch that another model reads as
 * a dimension of its own; what does not fit either way is left for the reader's validation to refuse.
 *
 * `batchSize`: rows of the request that the tensor came from, 0 where that had no batch dimension. A decoupled model may
 * have answered another number of rows.
 */
export function adjustBatch(tensor: Tensor, batchSize: number, { dims, batches }: TensorReader): Tensor {
  const { shape } = tensor;
  const fits = dims.length === shape.length && dims.every((dim, axis) => dim === -1 || dim === shape[axis]);
  if (batches && batchSize === 0 && fits) return { ...tensor, shape: [1, ...shape] };
  if (!batches && batchSize > 0 && shape[0] === 1 && !fits) return { ...tensor, shape: shape.slice(1) };
  return tensor;
}
