/**
 * A line of text in a picture, in pixels.
 *
 * @typedef {object} Region
 * @property {number} left
 * @property {number} top
 * @property {number} right
 * @property {number} bottom
 */

/** A pixel belongs to text from here on. */
const TEXT = 0.3;
/** Mean probability that makes a region one. */
const SURE = 0.6;
/** In pixels; anything smaller is noise. */
const SHORTEST = 3;
/**
 * The detector marks the core of a line: its outline moves outwards by so much of area / circumference. It was trained with 1.5; a
 * little more loses no edge of a letter, and margins are cut before reading.
 */
const GROWTH = 1.8;

/**
 * The lines of text in a map of probabilities [height, width], in reading order: rows from top to bottom, each from left to right.
 *
 * @param {Float32Array} probabilities
 * @param {number} width
 * @param {number} height
 * @returns {Region[]}
 */
export function findRegions(probabilities, width, height) {
  const seen = new Uint8Array(width * height);
  /** @type {Region[]} */
  const regions = [];
  for (let start = 0; start < seen.length; start += 1) {
    if (seen[start] === 1 || (probabilities[start] ?? 0) <= TEXT) continue;
    const found = flood(probabilities, width, height, seen, start);
    const small = Math.min(found.right - found.left, found.bottom - found.top) < SHORTEST;
    if (!small && found.score >= SURE) regions.push(grow(found, width, height));
  }
  return inReadingOrder(regions);
}

/**
 * @param {Float32Array} probabilities
 * @param {number} width
 * @param {number} height
 * @param {Uint8Array} seen Marked where the region lies.
 * @param {number} start
 */
function flood(probabilities, width, height, seen, start) {
  const open = [start];
  seen[start] = 1;
  let [left, top, right, bottom, sum, count] = [width, height, 0, 0, 0, 0];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const x = at % width;
    const y = (at - x) / width;
    left = Math.min(left, x);
    top = Math.min(top, y);
    right = Math.max(right, x + 1);
    bottom = Math.max(bottom, y + 1);
    sum += probabilities[at] ?? 0;
    count += 1;
    for (let ny = Math.max(0, y - 1); ny <= Math.min(height - 1, y + 1); ny += 1) {
      for (let nx = Math.max(0, x - 1); nx <= Math.min(width - 1, x + 1); nx += 1) {
        const next = ny * width + nx;
        if (seen[next] === 1 || (probabilities[next] ?? 0) <= TEXT) continue;
        seen[next] = 1;
        open.push(next);
      }
    }
  }
  return { left, top, right, bottom, score: sum / count };
}

/**
 * @param {Region} region
 * @param {number} width
 * @param {number} height
 * @returns {Region}
 */
function grow({ left, top, right, bottom }, width, height) {
  const [w, h] = [right - left, bottom - top];
  const distance = (w * h * GROWTH) / (2 * (w + h));
  return {
    left: Math.max(0, left - distance),
    top: Math.max(0, top - distance),
    right: Math.min(width, right + distance),
    bottom: Math.min(height, bottom + distance),
  };
}

/**
 * @param {readonly Region[]} regions
 * @returns {Region[]}
 */
function inReadingOrder(regions) {
  const middle = (/** @type {Region} */ { top, bottom }) => (top + bottom) / 2;
  /** @type {Region[][]} */
  const rows = [];
  for (const region of regions.toSorted((a, b) => middle(a) - middle(b))) {
    const row = rows.at(-1);
    const before = row?.at(-1);
    if (
      row !== undefined &&
      before !== undefined &&
      middle(region) < before.bottom &&
      middle(before) > region.top
    ) {
      row.push(region);
    } else {
      rows.push([region]);
    }
  }
  return rows.flatMap((row) => row.toSorted((a, b) => a.left - b.left));
}
