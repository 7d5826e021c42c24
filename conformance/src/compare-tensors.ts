import type { V2Element, V2Tensor } from "./v2-tensor.ts";
import { elementsOf } from "./v2-tensor.ts";

/** Accepted where |actual - expected| <= absolute + relative * |expected|. */
export interface Tolerance {
  readonly absolute: number;
  readonly relative: number;
}

/** Those of ONNX's own test runner, with room for kernels that sum in another order. */
export const STRICT: Tolerance = { absolute: 1e-5, relative: 1e-3 };
export const LOOSE: Tolerance = { absolute: 1e-2, relative: 2e-2 };

/** A case that the engine alone passes only loosely cannot do better behind a server. */
export function toleranceFor(onBareEngine: string): Tolerance {
  return onBareEngine === "pass" ? STRICT : LOOSE;
}

const LARGEST = 3.4028234663852886e38;

/** What is wrong with the outputs, or `undefined` when they are as expected. */
export function differenceOf(
  actual: readonly V2Tensor[],
  expected: readonly V2Tensor[],
  tolerance: Tolerance,
): string | undefined {
  if (actual.length !== expected.length)
    return `${actual.length} outputs where ${expected.length} are expected`;
  for (const wanted of expected) {
    const found = actual.find(({ name }) => name === wanted.name);
    if (found === undefined) return `no output '${wanted.name}'`;
    const difference = tensorDifference(found, wanted, tolerance);
    if (difference !== undefined) return `output '${wanted.name}': ${difference}`;
  }
  return undefined;
}

function tensorDifference(actual: V2Tensor, expected: V2Tensor, tolerance: Tolerance): string | undefined {
  if (actual.datatype !== expected.datatype)
    return `${actual.datatype} where ${expected.datatype} is expected`;
  if (clientShape(expected.shape) !== actual.shape.join()) {
    return `shape [${actual.shape.join()}] where [${expected.shape.join()}] is expected`;
  }
  const found = elementsOf(actual);
  const wanted = elementsOf(expected);
  if (found.length !== wanted.length) return `${found.length} elements where ${wanted.length} are expected`;
  for (const [index, value] of wanted.entries()) {
    const got = found[index];
    if (got === undefined || !isClose(got, value, tolerance)) {
      return `element ${index} is ${String(got)} where ${String(value)} is expected`;
    }
  }
  return undefined;
}

/** Triton has no tensors without dimensions: a scalar of a model is one element. */
function clientShape(shape: readonly number[]): string {
  return shape.length === 0 ? "1" : shape.join();
}

function isClose(actual: V2Element, expected: V2Element, { absolute, relative }: Tolerance): boolean {
  if (typeof actual !== "number" || typeof expected !== "number") return actual === expected;
  if (Number.isNaN(expected)) return Number.isNaN(actual);
  // Kernels write a mask as infinity or as the largest number there is.
  if (!Number.isFinite(expected))
    return Math.sign(actual) === Math.sign(expected) && Math.abs(actual) >= LARGEST;
  return Math.abs(actual - expected) <= absolute + relative * Math.abs(expected);
}
