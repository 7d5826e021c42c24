/**
 * Greedy decoding of a recogniser's output [steps, classes]: the best class of each step, repeats merged, blanks (class 0)
 * dropped. The score is the mean probability of the characters read, 0 when there are none.
 *
 * @param {Float32Array} probabilities
 * @param {readonly string[]} labels One for each class.
 * @returns {{ readonly text: string, readonly score: number }}
 */
export function decodeCtc(probabilities, labels) {
  const classes = labels.length;
  let [text, sum, count, previous] = ["", 0, 0, 0];
  for (let start = 0; start + classes <= probabilities.length; start += classes) {
    let best = 0;
    for (let index = 1; index < classes; index += 1) {
      if ((probabilities[start + index] ?? 0) > (probabilities[start + best] ?? 0)) best = index;
    }
    if (best !== 0 && best !== previous) {
      text += labels[best] ?? "";
      sum += probabilities[start + best] ?? 0;
      count += 1;
    }
    previous = best;
  }
  return { text, score: count === 0 ? 0 : sum / count };
}
