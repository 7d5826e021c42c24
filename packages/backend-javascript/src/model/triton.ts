import * as flags from "./flags.ts";
import { InferenceResponse } from "./inference-response.ts";
import { ModelError } from "./model-error.ts";
import { Tensor } from "./tensor.ts";

/** What `triton` holds in every module of a model. */
export interface Triton {
  readonly Tensor: typeof Tensor;
  readonly InferenceResponse: typeof InferenceResponse;
  readonly ModelError: typeof ModelError;
  readonly RESPONSE_COMPLETE_FINAL: typeof flags.RESPONSE_COMPLETE_FINAL;
  readonly SEQUENCE_START: typeof flags.SEQUENCE_START;
  readonly SEQUENCE_END: typeof flags.SEQUENCE_END;
  readonly REQUEST_RELEASE_ALL: typeof flags.REQUEST_RELEASE_ALL;
  readonly REQUEST_RELEASE_RESCHEDULE: typeof flags.REQUEST_RELEASE_RESCHEDULE;
}

export const triton: Triton = Object.freeze({ Tensor, InferenceResponse, ModelError, ...flags });
