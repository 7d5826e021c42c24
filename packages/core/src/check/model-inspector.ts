import type { ConfigIssue, ModelConfig } from "@naiad/model-config";
import type { ModelSpec, PrepareOptions } from "../ports.ts";

/** What a backend can say of a model without running it. */
export interface ModelInspector {
  /** The word in `backend:` of a model's configuration. */
  readonly name: string;
  /** Rejects with an InferenceError where it cannot read the model. */
  inspect(model: ModelSpec, options: PrepareOptions): Promise<Inspection>;
}

export interface Inspection {
  /** As it would be served, as far as that can be known. */
  readonly config: ModelConfig;
  /** False where the model itself completes its inputs and outputs when it is loaded. */
  readonly isComplete: boolean;
  readonly issues: readonly ConfigIssue[];
  readonly warnings: readonly string[];
}
