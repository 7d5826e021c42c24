import type { InferenceRequest, InferenceResponse, ModelReference, OperationContext } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { Admission } from "../admission/admission.ts";
import type { ServingVersion } from "../lifecycle/serving-version.ts";
import type { Clock } from "../ports.ts";
import { validateRequest } from "../request/inference-request.ts";
import type { RequestOutcome } from "../scheduling/scheduler.ts";
import type { Tracing } from "../trace/tracing.ts";
import { clientResponse } from "./client-response.ts";

export interface InferenceContext {
  /** Throws Triton's lookup errors. */
  readonly find: (reference: ModelReference) => ServingVersion;
  readonly clock: Clock;
  readonly admission: Admission;
  readonly tracing: Tracing;
}

/**
 * Validates the request, hands it to the version's scheduler if the server admits it, and waits for its outcome, which is
 * CANCELLED as soon as `signal` fires. What is cancelled while it executes counts no longer, although its bytes are still
 * there until the execution ends.
 *
 * One promise and no async function: with many requests queued, what each keeps alive is most of what it costs.
 */
export function runInference(
  request: InferenceRequest,
  context: OperationContext,
  { find, clock, admission, tracing }: InferenceContext,
): Promise<InferenceResponse> {
  return new Promise((resolve, reject) => {
    const serving = find(request);
    const { modelName, version, scheduler, signature } = serving;
    if (signature.decoupled) throw new InferenceError("UNSUPPORTED", DECOUPLED);
    const startNs = clock.nowNs();
    const valid = validateRequest(request, { name: modelName, signature });
    const release = admission.admit(valid, serving);
    const trace = tracing.take({ modelName, version, requestId: request.id }, startNs, context.trace);
    const respond = (outcome: RequestOutcome): void => {
      release();
      try {
        resolve(responseOf(outcome, serving, request));
      } catch (thrown) {
        reject(InferenceError.from(thrown));
      }
    };
    try {
      scheduler.enqueue({ request: valid, signal: context.signal, startNs, trace, respond });
    } catch (thrown) {
      release();
      trace?.finish();
      throw thrown;
    }
  });
}

/** Throws the error of an outcome that is one. */
function responseOf(
  outcome: RequestOutcome,
  serving: ServingVersion,
  request: InferenceRequest,
): InferenceResponse {
  switch (outcome.kind) {
    case "response":
      return clientResponse(outcome, serving, request);
    case "error":
      throw outcome.error;
    case "end":
      throw new InferenceError(
        "INTERNAL",
        `model '${serving.modelName}' ended the request without a response`,
      );
  }
}

/** Triton's text. Every road to this operation gives exactly one answer for a request, as its HTTP end point does. */
const DECOUPLED = "HTTP end point doesn't support models with decoupled transaction policy";
