import type { ModelSignature, TensorSignature } from "@naiad/model-config";
import type { TensorMetadata } from "@naiad/protocol";

/** A tensor as clients see it: without `reshape`, with the batch dimension where there is one. */
export function clientTensor(
  { maxBatchSize }: Pick<ModelSignature, "maxBatchSize">,
  { datatype, dims, name }: TensorSignature,
): TensorMetadata {
  return { name, datatype, shape: maxBatchSize >= 1 ? [-1, ...dims] : dims };
}
