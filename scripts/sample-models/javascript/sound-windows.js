import { answerEach, inputOf } from "./answer-each.js";
import { BANDS, cutWindows, STEPS } from "./windows.js";

/** A mel spectrogram FP32 [1, 1, steps, 32] to the embedding's batch of windows, FP32 [windows, 76, 32, 1]. */
export default class SoundWindows {
  /** @param {readonly import("naiad/model").InferenceRequest[]} requests */
  execute(requests) {
    return answerEach(requests, async (request) => {
      const { count, values } = cutWindows(inputOf(request, "SPECTROGRAM").as("FP32"));
      return [new triton.Tensor("WINDOWS", values, [count, STEPS, BANDS, 1])];
    });
  }
}
