import type { Datatype } from "./datatype.ts";
import { elementByteSize } from "./datatype.ts";

/**
 * A tensor whose content lies in this context's memory.
 *
 * `bytes` is row-major and little-endian, as in the binary tensor extension. It is a view: several tensors may lie on
 * one buffer (an HTTP body), so nobody may transfer or write `bytes.buffer` unless they own all of it.
 */
export interface BytesTensor {
  readonly kind: "bytes";
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /**
   * The shape of a request once more where sizes are beyond 2^53, so that `shape` is rounded. No tensor has such sizes: it is
   * for the texts of refusals.
   */
  readonly exactShape?: readonly bigint[];
  readonly bytes: Uint8Array;
}

/**
 * A tensor that stayed on a device. `worker` names the instance worker that holds it and `handle` the tensor there;
 * whoever received it must hand it on or dispose it exactly once.
 */
export interface DeviceTensor {
  readonly kind: "device";
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly worker: string;
  readonly handle: number;
}

export type Tensor = BytesTensor | DeviceTensor;

/** Number of elements of a shape; 1 for a scalar, 0 when any dimension is 0. */
export function elementCount(shape: readonly number[]): number {
  let count = 1;
  for (const dim of shape) count *= dim;
  return count;
}

/** `elementCount` for texts, where it must be exact beyond 2^53 too. */
export function exactElementCount({
  shape,
  exactShape = shape.map(BigInt),
}: Pick<BytesTensor, "shape" | "exactShape">): bigint {
  return exactShape.reduce((count, dim) => count * dim, 1n);
}

/** Byte size of a fixed-size tensor; `undefined` for BYTES. */
export function tensorByteSize(datatype: Datatype, shape: readonly number[]): number | undefined {
  return datatype === "BYTES" ? undefined : elementCount(shape) * elementByteSize(datatype);
}
