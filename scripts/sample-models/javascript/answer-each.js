/** @import { InferenceRequest, InferenceResponse, Tensor } from "naiad/model" */

/**
 * Answers all requests of a batch at the same time. What `answer` throws becomes the error of its own request only.
 *
 * @param {readonly InferenceRequest[]} requests
 * @param {(request: InferenceRequest) => Promise<readonly Tensor[]>} answer
 * @returns {Promise<InferenceResponse[]>}
 */
export function answerEach(requests, answer) {
  return Promise.all(
    requests.map(async (request) => {
      try {
        return new triton.InferenceResponse({ outputTensors: await answer(request) });
      } catch (error) {
        return new triton.InferenceResponse({
          error: error instanceof Error ? error : new Error(String(error)),
        });
      }
    }),
  );
}

/**
 * @param {InferenceRequest} request
 * @param {string} name
 * @returns {Tensor}
 */
export function inputOf(request, name) {
  const tensor = request.input(name);
  if (tensor === undefined) throw new triton.ModelError(`input '${name}' is missing`, "INVALID_ARG");
  return tensor;
}
