import type { Datatype } from "@naiad/protocol";
import { elementByteSize, elementCount, exactElementCount, InferenceError } from "@naiad/protocol";

/** What WebAssembly can address. */
const MAX_BYTES = 2 ** 32;
/** Of an empty text, its length. */
const LEAST_TEXT_BYTES = 4;

interface DeclaredTensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
}

/** Number of elements of a tensor that a configuration asks for; INVALID_ARG for one that no memory here could hold. */
export function checkedCount({ name, datatype, shape }: DeclaredTensor): number {
  const count = elementCount(shape);
  if (count * (elementByteSize(datatype) || LEAST_TEXT_BYTES) <= MAX_BYTES) return count;
  throw new InferenceError(
    "INVALID_ARG",
    `tensor '${name}' has ${exactElementCount({ shape })} elements of ${datatype}, which is more than fits into memory`,
  );
}
