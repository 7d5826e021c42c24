import { InferenceError } from "./status.ts";
import { type BytesTensor, elementCount, exactElementCount } from "./tensor.ts";

export const INT64_MAX: bigint = 2n ** 63n - 1n;

export type RequestShape = Pick<BytesTensor, "shape" | "exactShape">;

/** The shape of a request's input. Throws INVALID_ARG where its elements cannot be counted. */
export function requestShape(dims: readonly (number | bigint)[], input: string): RequestShape {
  const shape = dims.map(Number);
  const exact: RequestShape = shape.every(Number.isSafeInteger)
    ? { shape }
    : { shape, exactShape: dims.map(BigInt) };
  // The product of doubles is exact where it could pass for a real tensor, so only then is it enough by itself.
  if (elementCount(shape) > Number.MAX_SAFE_INTEGER && exactElementCount(exact) > INT64_MAX) {
    throw new InferenceError(
      "INVALID_ARG",
      `shape of input '${input}' causes total element count to exceed maximum size of ${String(INT64_MAX)}`,
    );
  }
  return exact;
}
