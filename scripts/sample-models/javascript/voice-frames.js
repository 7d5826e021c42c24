import { answerEach, inputOf } from "./answer-each.js";
import { makeReady } from "./make-ready.js";

const DETECTOR = "silero_vad";
/** Samples of one frame: 32 ms. */
const FRAME = 512;

/**
 * Sound at 16 kHz, FP32 [samples], to the probability of speech in each whole frame of 512, FP32 [frames]. The frames are a
 * sequence of the voice detector: of the request's own sequence where it has one, so that a stream may come in
 * pieces, else one that begins and ends here.
 */
export default class VoiceFrames {
  /** @type {import("naiad/model").ModelArgs | undefined} */
  args;
  #streams = 0;

  /** @param {import("naiad/model").ModelArgs} args */
  initialize(args) {
    this.args = args;
  }

  /** @param {readonly import("naiad/model").InferenceRequest[]} requests */
  execute(requests) {
    const { args } = this;
    if (args === undefined) throw new Error("the model is not initialized");
    return answerEach(requests, async (request) => {
      await makeReady(args, DETECTOR);
      const samples = inputOf(request, "SAMPLES").as("FP32");
      const frames = Math.floor(samples.length / FRAME);
      if (frames === 0) {
        throw new triton.ModelError(
          `SAMPLES has ${String(samples.length)} values where one frame is ${String(FRAME)}`,
          "INVALID_ARG",
        );
      }
      const { correlationId, start, end } = this.#sequenceOf(request);
      const speech = new Float32Array(frames);
      for (let index = 0; index < frames; index += 1) {
        const isFirst = start && index === 0;
        const isLast = end && index === frames - 1;
        speech[index] = await hear(args, samples.subarray(index * FRAME, (index + 1) * FRAME), {
          correlationId,
          flags: (isFirst ? triton.SEQUENCE_START : 0) | (isLast ? triton.SEQUENCE_END : 0),
          signal: request.signal,
        });
      }
      return [new triton.Tensor("SPEECH", speech, [frames])];
    });
  }

  /** @param {import("naiad/model").InferenceRequest} request */
  #sequenceOf({ correlationId, flags }) {
    if (correlationId !== 0 && correlationId !== "") {
      return {
        correlationId,
        start: (flags & triton.SEQUENCE_START) !== 0,
        end: (flags & triton.SEQUENCE_END) !== 0,
      };
    }
    this.#streams += 1;
    const name = this.args?.modelInstanceName ?? "";
    return { correlationId: `${name} ${String(this.#streams)}`, start: true, end: true };
  }
}

/**
 * @param {import("naiad/model").ModelArgs} args
 * @param {Float32Array} frame
 * @param {{ readonly correlationId: string | number | bigint, readonly flags: number, readonly signal: AbortSignal }} sequence
 * @returns {Promise<number>}
 */
async function hear({ infer }, frame, sequence) {
  const input = new triton.Tensor("input", frame, [1, FRAME]);
  const response = await infer({ modelName: DETECTOR, inputs: [input], ...sequence });
  if (response.error !== undefined) throw response.error;
  const [probability = 0] = response.output("output")?.as("FP32") ?? [];
  return probability;
}
