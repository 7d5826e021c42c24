import { elementByteSize } from "./datatype.ts";
import type { Datatype } from "./datatype.ts";
import { bytesOf, encodeBytesElements } from "./elements.ts";
import { float32ToBf16, float32ToFp16 } from "./half-float.ts";

export type MadeUpKind = "zero" | "random";

/**
 * The content of a tensor that nobody has asked for. Zeros are zero bytes; random floats lie in [0, 1), random integers
 * are any that the type has, and a BYTES tensor is `count` empty elements either way. Equal arguments give equal bytes.
 */
export function madeUpElements(datatype: Datatype, count: number, kind: MadeUpKind): Uint8Array {
  if (datatype === "BYTES") return encodeBytesElements(new Array<string>(count).fill(""));
  if (kind === "zero") return new Uint8Array(count * elementByteSize(datatype));
  const random = randomNumbers();
  switch (datatype) {
    case "FP64":
      return bytesOf(Float64Array.from({ length: count }, () => random() / 2 ** 32));
    case "FP32":
      return bytesOf(randomFloats(count, random));
    case "FP16":
      return bytesOf(float32ToFp16(randomFloats(count, random)));
    case "BF16":
      return bytesOf(float32ToBf16(randomFloats(count, random)));
    case "BOOL":
      return Uint8Array.from({ length: count }, () => random() >>> 31);
    default:
      return Uint8Array.from({ length: count * elementByteSize(datatype) }, () => random() >>> 24);
  }
}

/** 11 bits, so that the half floats among them stay below 1. */
function randomFloats(count: number, random: () => number): Float32Array {
  return Float32Array.from({ length: count }, () => (random() >>> 21) / 2 ** 11);
}

/** 32-bit numbers, always the same ones (xorshift). */
function randomNumbers(): () => number {
  let state = 0x9e3779b9;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}
