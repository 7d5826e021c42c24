/** A seeded stream of numbers in [0, 1), equal on every machine (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Weights that keep the size of a ReLU layer's signal: uniform, variance 2 / `fanIn`. */
export function reluWeights(random: () => number, count: number, fanIn: number): number[] {
  const limit = Math.sqrt(6 / fanIn);
  return Array.from({ length: count }, () => (random() * 2 - 1) * limit);
}
