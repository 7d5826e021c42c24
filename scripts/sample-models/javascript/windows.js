export const [STEPS, BANDS, STRIDE] = [76, 32, 8];

/**
 * The windows of a spectrogram [steps, 32] that the embedding sees, [windows, 76, 32]: one every 8 steps, values scaled as it
 * was trained.
 *
 * @param {Float32Array} spectrogram
 * @returns {{ readonly count: number, readonly values: Float32Array<ArrayBuffer> }}
 */
export function cutWindows(spectrogram) {
  const size = STEPS * BANDS;
  const count = Math.max(0, Math.floor((spectrogram.length - size) / (STRIDE * BANDS)) + 1);
  const values = new Float32Array(count * size);
  for (let window = 0; window < count; window += 1) {
    const start = window * STRIDE * BANDS;
    values.set(
      spectrogram.subarray(start, start + size).map((value) => value / 10 + 2),
      window * size,
    );
  }
  return { count, values };
}
