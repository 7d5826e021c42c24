/** What authors of models in JavaScript work with: types above all, and the classes behind `triton` for their tests. */
export { InferenceResponse, ModelError, Tensor, triton } from "@naiad/backend-javascript/model";
export type * from "@naiad/backend-javascript/model";
