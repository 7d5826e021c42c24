import type { StatusCode } from "@naiad/protocol";

/**
 * An error that a model answers a request with: `new InferenceResponse({ error: new ModelError("no face found", "NOT_FOUND") })`.
 * The code decides the HTTP status that the client sees.
 */
export class ModelError extends Error {
  override readonly name = "ModelError";
  readonly code: StatusCode;

  constructor(message: string, code: StatusCode = "INTERNAL") {
    super(message);
    this.code = code;
  }
}
