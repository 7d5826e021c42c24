import type { ModelSignature } from "@naiad/model-config";
import type { Tensor } from "@naiad/protocol";

/**
 * A tensor whose shape follows `from`, in the shape of `to`: the variable dimensions of `to` are filled in order with
 * those that `from` has in this tensor; a leading batch dimension stays. (Validation of the configuration has shown that
 * both have as many variable dimensions and as many elements.) This is `reshape` of a model's configuration: inputs go from
 * `dims` to `reshape.shape`, outputs the other way.
 */
export function reshapeTensor(
  tensor: Tensor,
  {
    from,
    to,
    batches,
  }: { readonly from: readonly number[]; readonly to: readonly number[]; readonly batches: boolean },
): Tensor {
  const { shape } = tensor;
  const batch = batches ? shape.slice(0, 1) : [];
  const own = shape.slice(batch.length);
  const variable = own.filter((_, axis) => from[axis] === -1);
  let next = 0;
  const dims = to.map((dim) => (dim === -1 ? (variable[next++] ?? dim) : dim));
  return { ...tensor, shape: [...batch, ...dims] };
}

/** An output as the client sees it: the model's own shape follows `reshape`, the client's `dims`. */
export function clientShaped(output: Tensor, { outputs, maxBatchSize }: ModelSignature): Tensor {
  const declared = outputs.find(({ name }) => name === output.name);
  if (declared?.reshape === undefined) return output;
  return reshapeTensor(output, { from: declared.reshape, to: declared.dims, batches: maxBatchSize > 0 });
}
