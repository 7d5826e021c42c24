import { answerEach, inputOf } from "./answer-each.js";

/** Probabilities of all classes to the name of the likeliest one, and its probability. */
export default class ImageLabel {
  /** @type {readonly string[]} */
  labels = [];

  /** @param {import("naiad/model").ModelArgs} args */
  async initialize({ files }) {
    this.labels = (await files.readText("labels.txt")).trimEnd().split("\n");
  }

  /** @param {readonly import("naiad/model").InferenceRequest[]} requests */
  execute(requests) {
    return answerEach(requests, async (request) => {
      const tensor = inputOf(request, "PROBABILITIES");
      const [rows = 1, classes = 0] = tensor.shape;
      const probabilities = tensor.as("FP32");
      const best = Array.from({ length: rows }, (_, row) =>
        largest(probabilities.subarray(row * classes, (row + 1) * classes)),
      );
      const names = best.map(({ index }) => this.labels[index] ?? `class ${String(index)}`);
      return [
        new triton.Tensor("CLASS", names, [rows, 1]),
        new triton.Tensor(
          "SCORE",
          Float32Array.from(best, ({ value }) => value),
          [rows, 1],
        ),
      ];
    });
  }
}

/** @param {Float32Array} values */
function largest(values) {
  let index = 0;
  for (let each = 1; each < values.length; each += 1) {
    if ((values[each] ?? 0) > (values[index] ?? 0)) index = each;
  }
  return { index, value: values[index] ?? 0 };
}
