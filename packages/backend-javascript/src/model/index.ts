/** What authors of models in JavaScript work with. */
import type { Triton } from "./triton.ts";

export { triton } from "./triton.ts";
export type { Triton } from "./triton.ts";
export { Tensor } from "./tensor.ts";
export type { TensorArrays, TensorData } from "./tensor.ts";
export { InferenceResponse } from "./inference-response.ts";
export type { InferenceResponseContent, ResponseParameters } from "./inference-response.ts";
export { ModelError } from "./model-error.ts";
export type * from "./model.ts";

declare global {
  /** There in every module of a model, from its first line on. */
  var triton: Triton;
}
