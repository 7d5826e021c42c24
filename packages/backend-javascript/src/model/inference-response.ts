import type { ModelError } from "./model-error.ts";
import type { Tensor } from "./tensor.ts";

/** What a response may say beside its tensors. A number must be a whole one. */
export type ResponseParameters = Readonly<Record<string, string | boolean | number | bigint>>;

export interface InferenceResponseContent {
  /** Outputs that the request did not ask for are left out. Their memory may be used again once it was returned or sent. */
  readonly outputTensors?: readonly Tensor[];
  /** In the place of outputs: this request fails, its neighbours do not. */
  readonly error?: ModelError | Error;
  readonly parameters?: ResponseParameters;
}

/** The answer to one request: of this model to its caller, or of another model to this one. */
export class InferenceResponse {
  readonly outputTensors: readonly Tensor[];
  readonly error: ModelError | Error | undefined;
  readonly parameters: ResponseParameters;

  constructor({ outputTensors = [], error, parameters = {} }: InferenceResponseContent = {}) {
    this.outputTensors = outputTensors;
    this.error = error;
    this.parameters = parameters;
  }

  get hasError(): boolean {
    return this.error !== undefined;
  }

  output(name: string): Tensor | undefined {
    return this.outputTensors.find((tensor) => tensor.name === name);
  }
}
