import type { InferenceSession, Tensor as OrtTensor } from "onnxruntime-web";
import { bytesOf } from "@naiad/protocol";

/** Looks for NaN and infinities in what a model gives. */
export interface NonFiniteWatch {
  /** Names of the outputs in which there is one; a large output is only sampled. */
  look(results: InferenceSession.ReturnType): readonly string[];
}

/**
 * Elements of one output that are looked at. Of a larger one every n-th, each time others, so that n executions see them
 * all: looking at all 150,000 numbers of a 600 KB output would take longer than copying them.
 */
const SAMPLE = 8192;

/** Bits of a half float's exponent: all set in NaN and infinities alone. */
const HALF_EXPONENT = 0x7c00;

export function createNonFiniteWatch(): NonFiniteWatch {
  let round = 0;
  return {
    look(results) {
      round += 1;
      const names: string[] = [];
      for (const [name, tensor] of Object.entries(results)) {
        if (isSuspicious(tensor, round)) names.push(name);
      }
      return names;
    },
  };
}

function isSuspicious(tensor: OrtTensor, round: number): boolean {
  switch (tensor.type) {
    case "float32":
    case "float64":
      return hasNonFinite(tensor.data as Float32Array | Float64Array, round);
    case "float16":
      return hasNonFiniteHalf(halvesOf(tensor), round);
    default:
      return false;
  }
}

/** The platform's own Float16Array, where it has one, reads slower than plain words. */
function halvesOf({ data }: OrtTensor): Uint16Array {
  const { buffer, byteOffset, byteLength } = bytesOf(data as Uint16Array);
  return new Uint16Array(buffer, byteOffset, byteLength / 2);
}

/** Zero times a number is zero, except for these. */
function hasNonFinite(numbers: Float32Array | Float64Array, round: number): boolean {
  const stride = Math.ceil(numbers.length / SAMPLE);
  let sum = 0;
  for (let index = round % stride; index < numbers.length; index += stride) sum += (numbers[index] ?? 0) * 0;
  return sum !== 0;
}

function hasNonFiniteHalf(halves: Uint16Array, round: number): boolean {
  const stride = Math.ceil(halves.length / SAMPLE);
  for (let index = round % stride; index < halves.length; index += stride) {
    if (((halves[index] ?? 0) & HALF_EXPONENT) === HALF_EXPONENT) return true;
  }
  return false;
}
