/** Conversions between Float32Array and the two 16-bit float types that JavaScript of 2023 has no array for. */

const scratchFloat = new Float32Array(1);
const scratchBits = new Uint32Array(scratchFloat.buffer);

/** IEEE 754 half precision to single, exact. */
export function fp16ToFloat32(halves: Uint16Array): Float32Array<ArrayBuffer> {
  const floats = new Float32Array(halves.length);
  const bits = new Uint32Array(floats.buffer);
  for (let index = 0; index < halves.length; index++) {
    const half = halves[index] ?? 0;
    const sign = (half & 0x8000) << 16;
    const exponent = (half >>> 10) & 0x1f;
    const fraction = half & 0x3ff;
    if (exponent === 0) {
      // Zero and subnormals: the fraction counts units of 2^-24.
      floats[index] = fraction * 2 ** -24;
      bits[index] = (bits[index] ?? 0) | sign;
    } else {
      const rebased = exponent === 0x1f ? 0xff : exponent + 112;
      bits[index] = sign | (rebased << 23) | (fraction << 13);
    }
  }
  return floats;
}

/** Single to half precision, rounded to nearest, ties to even; too large becomes infinity, NaN stays NaN. */
export function float32ToFp16(floats: Float32Array): Uint16Array<ArrayBuffer> {
  const halves = new Uint16Array(floats.length);
  for (let index = 0; index < floats.length; index++) halves[index] = halfBits(floats[index] ?? 0);
  return halves;
}

function halfBits(value: number): number {
  scratchFloat[0] = value;
  const bits = scratchBits[0] ?? 0;
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  // 65520 is the middle between the largest half and the next power of two, which there is not.
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  // Below 2^-14 a half is a multiple of 2^-24; adding 0.5 lines those multiples up with the last bit of a float.
  if (magnitude < 0x38800000) {
    scratchFloat[0] = Math.abs(value) + 0.5;
    return sign | ((scratchBits[0] ?? 0) - 0x3f000000);
  }
  const roundToEven = 0xfff + ((magnitude >>> 13) & 1);
  return sign | ((magnitude - 0x38000000 + roundToEven) >>> 13);
}

/** bfloat16 to single, exact. */
export function bf16ToFloat32(halves: Uint16Array): Float32Array<ArrayBuffer> {
  const floats = new Float32Array(halves.length);
  const bits = new Uint32Array(floats.buffer);
  for (let index = 0; index < halves.length; index++) bits[index] = (halves[index] ?? 0) << 16;
  return floats;
}

/** Single to bfloat16 by cutting off the lower half, as Triton's client library does; NaN stays NaN. */
export function float32ToBf16(floats: Float32Array): Uint16Array<ArrayBuffer> {
  const bits = new Uint32Array(floats.buffer, floats.byteOffset, floats.length);
  const halves = new Uint16Array(floats.length);
  for (let index = 0; index < floats.length; index++) {
    const value = bits[index] ?? 0;
    const isNaN = (value & 0x7fffffff) > 0x7f800000;
    halves[index] = isNaN ? (value >>> 16) | 0x40 : value >>> 16;
  }
  return halves;
}
