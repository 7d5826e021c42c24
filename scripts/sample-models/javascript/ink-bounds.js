/** How far, summed over red, green and blue, a pixel is from the background's colour to be ink. */
const INK = 96;

/**
 * The part of a picture of one line that its ink fills, with a little air around it: the recogniser expects a line that fills its
 * height, and loses spaces in a smaller one. The background's colour is that of the first pixel. The whole picture where there
 * is no ink.
 *
 * @param {Uint8ClampedArray} rgba
 * @param {number} width
 * @param {number} height
 */
export function inkBounds(rgba, width, height) {
  let [left, top, right, bottom] = [width, height, 0, 0];
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      if (distance(rgba, (y * width + x) * 4) <= INK) continue;
      left = Math.min(left, x);
      top = Math.min(top, y);
      right = Math.max(right, x + 1);
      bottom = Math.max(bottom, y + 1);
    }
  }
  if (right === 0) return { x: 0, y: 0, width, height };
  const air = Math.max(2, Math.round((bottom - top) * 0.2));
  const x = Math.max(0, left - air);
  const y = Math.max(0, top - air);
  return { x, y, width: Math.min(width, right + air) - x, height: Math.min(height, bottom + air) - y };
}

/**
 * @param {Uint8ClampedArray} rgba
 * @param {number} at
 */
function distance(rgba, at) {
  let sum = 0;
  for (let channel = 0; channel < 3; channel += 1)
    sum += Math.abs((rgba[at + channel] ?? 0) - (rgba[channel] ?? 0));
  return sum;
}
