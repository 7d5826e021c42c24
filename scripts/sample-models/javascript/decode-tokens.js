/** @import { InferRequest, InferenceResponse, ModelArgs } from "naiad/model" */

/**
 * @typedef {object} DecodeOptions
 * @property {ModelArgs["infer"]} infer
 * @property {string} decoder A model with a sequence for each text: `input_ids` and `position` INT64 [1, 1] to `logits`.
 * @property {AbortSignal} signal
 */

/**
 * The likeliest tokens behind a prompt, `limit` of them. Prompt and answer go to the decoder token by token as one sequence, whose
 * memory is the decoder's state in the server. Leaving the loop ends the sequence, too.
 *
 * @param {readonly number[]} prompt
 * @param {number} limit
 * @param {DecodeOptions} options
 * @returns {AsyncGenerator<number, void>}
 */
export async function* decodeTokens(prompt, limit, { infer, decoder, signal }) {
  // Unlike an id from a counter, one of 63 random bits is new even after this model was loaded again.
  const [random = 0n] = crypto.getRandomValues(new BigUint64Array(1));
  const correlationId = (random >> 1n) + 1n;
  const lastPosition = prompt.length + limit - 2;
  let token = prompt[0] ?? 0;
  let position = 0;
  let isOpen = false;

  /** @param {Pick<InferRequest, "flags" | "signal">} options */
  const step = (options) =>
    infer({
      modelName: decoder,
      inputs: [int64("input_ids", token), int64("position", position)],
      requestedOutputNames: ["logits"],
      correlationId,
      ...options,
    });

  try {
    for (; position <= lastPosition; position += 1) {
      signal.throwIfAborted();
      const isLast = position === lastPosition;
      const flags = (position === 0 ? triton.SEQUENCE_START : 0) | (isLast ? triton.SEQUENCE_END : 0);
      const response = await step({ flags, signal });
      // A sequence whose request failed is over.
      isOpen = !isLast && !response.hasError;
      const isPrompt = position + 1 < prompt.length;
      token = isPrompt ? (prompt[position + 1] ?? 0) : likeliest(response);
      if (!isPrompt) yield token;
    }
  } finally {
    // Nothing but a request can say that a sequence is over, and what it computes is for nobody.
    if (isOpen) {
      position += 1;
      await step({ flags: triton.SEQUENCE_END });
    }
  }
}

/** @param {InferenceResponse} response */
function likeliest(response) {
  if (response.error !== undefined) throw response.error;
  const logits = response.output("logits")?.as("FP32") ?? [];
  let best = 0;
  for (let token = 1; token < logits.length; token += 1) {
    if ((logits[token] ?? NaN) > (logits[best] ?? NaN)) best = token;
  }
  return best;
}

/**
 * @param {string} name
 * @param {number} value
 */
function int64(name, value) {
  return new triton.Tensor(name, BigInt64Array.of(BigInt(value)), [1, 1]);
}
