import type { InferenceRequest, InferenceStreamResponse, OperationContext } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { ServingVersion } from "../lifecycle/serving-version.ts";
import { validateRequest } from "../request/inference-request.ts";
import type { RequestOutcome, StreamedResponse } from "../scheduling/scheduler.ts";
import { clientResponse } from "./client-response.ts";
import { createResponseStream } from "./response-stream.ts";
import type { InferenceContext } from "./run-inference.ts";

/** Responses that wait in the server for their reader, of each request. Those of the ports come on top. */
const CAPACITY = 4;

/**
 * As `runInference`, for a model that answers any number of times: resolves when the scheduler has taken the request on.
 * An error of one response stands among the items; the error of the whole request is what the iteration throws. When
 * `signal` fires or the reader leaves, the model is told.
 */
// eslint-disable-next-line @typescript-eslint/require-await -- a refusal is a rejection
export async function streamInference(
  request: InferenceRequest,
  { signal, trace: tracedAs }: OperationContext,
  { find, clock, admission, tracing }: InferenceContext,
): Promise<AsyncIterable<InferenceStreamResponse>> {
  const serving = find(request);
  const { modelName, scheduler, signature } = serving;
  const startNs = clock.nowNs();
  const valid = validateRequest(request, { name: modelName, signature });
  const release = admission.admit(valid, serving);
  const { version } = serving;
  const trace = tracing.take({ modelName, version, requestId: request.id }, startNs, tracedAs);
  const leaving = new AbortController();
  const leave = (): void => {
    leaving.abort(signal.reason);
  };
  const stream = createResponseStream<InferenceStreamResponse>({ capacity: CAPACITY, onLeave: leave });

  const respond = (outcome: RequestOutcome): void => {
    signal.removeEventListener("abort", leave);
    release();
    switch (outcome.kind) {
      case "response":
        void stream.push(itemOf({ ...outcome, final: true }, serving, request));
        stream.end();
        return;
      case "end":
        stream.end();
        return;
      case "error":
        if (leaving.signal.aborted) stream.abort(outcome.error);
        else stream.fail(outcome.error);
    }
  };
  const onResponse = (response: StreamedResponse): Promise<void> =>
    stream.push(itemOf(response, serving, request));

  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave);
  try {
    scheduler.enqueue({ request: valid, signal: leaving.signal, startNs, trace, onResponse, respond });
  } catch (thrown) {
    trace?.finish();
    signal.removeEventListener("abort", leave);
    release();
    throw thrown;
  }
  return stream.items;
}

/** A response that the client cannot be given becomes the error that says why. */
function itemOf(
  response: StreamedResponse,
  serving: ServingVersion,
  request: InferenceRequest,
): InferenceStreamResponse {
  return { ...contentOf(response, serving, request), ...(response.final && { final: true }) };
}

function contentOf(
  response: StreamedResponse,
  serving: ServingVersion,
  request: InferenceRequest,
): InferenceStreamResponse {
  if (response.kind === "error") return errorItem(response.error, serving, request);
  try {
    return clientResponse(response, serving, request);
  } catch (thrown) {
    return errorItem(InferenceError.from(thrown), serving, request);
  }
}

function errorItem(
  error: InferenceError,
  serving: ServingVersion,
  request: InferenceRequest,
): InferenceStreamResponse {
  return {
    ...clientResponse({ outputs: [], parameters: {} }, serving, request),
    error: error.toWire(),
  };
}
