import { answerEach, inputOf } from "./answer-each.js";

/** The range of 16-bit integers, which the spectrogram was made for. */
const RANGE = 32_768;
/** What makes one window of the embedding, and what makes sixteen, which is the largest batch there. */
const [SHORTEST, LONGEST] = [12_512, 32_991];

/** Sound at 16 kHz, -1 to 1, FP32 [samples], to the spectrogram's FP32 [1, samples]; short sound gets silence behind it. */
export default class SoundScale {
  /** @param {readonly import("naiad/model").InferenceRequest[]} requests */
  execute(requests) {
    return answerEach(requests, async (request) => {
      const samples = inputOf(request, "SAMPLES").as("FP32");
      if (samples.length > LONGEST) {
        throw new triton.ModelError(
          `SAMPLES has ${String(samples.length)} values, more than the ${String(LONGEST)} (two seconds) of one request`,
          "INVALID_ARG",
        );
      }
      const scaled = new Float32Array(Math.max(samples.length, SHORTEST));
      for (const [index, sample] of samples.entries()) scaled[index] = sample * RANGE;
      return [new triton.Tensor("SCALED", scaled, [1, scaled.length])];
    });
  }
}
