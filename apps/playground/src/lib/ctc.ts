export interface Reading {
  readonly text: string;
  /** Mean probability of the characters read, 0 when there are none. */
  readonly confidence: number;
}

/**
 * Greedy decoding of a recogniser's output [steps, classes]: the best class of each step, repeats merged, blanks (class 0)
 * dropped. `characters` holds the classes from 1 on.
 */
export function decodeCtc(
  probabilities: Float32Array,
  classes: number,
  characters: readonly string[],
): Reading {
  let text = "";
  let sum = 0;
  let count = 0;
  let previous = 0;
  for (let start = 0; start + classes <= probabilities.length; start += classes) {
    let best = 0;
    for (let index = 1; index < classes; index += 1) {
      if ((probabilities[start + index] ?? 0) > (probabilities[start + best] ?? 0)) best = index;
    }
    if (best !== 0 && best !== previous) {
      text += characters[best - 1] ?? "";
      sum += probabilities[start + best] ?? 0;
      count += 1;
    }
    previous = best;
  }
  return { text, confidence: count === 0 ? 0 : sum / count };
}
