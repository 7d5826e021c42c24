import {
  decodeGenerateRequest,
  encodeGenerateResponse,
  encodeJson,
  type ExchangeResponse,
  headerValue,
  type HttpOnlyName,
  httpStatusOf,
  InferenceError,
  type InferenceRequest,
} from "@naiad/protocol";
import { contextOf, respond } from "./responses.ts";
import type { Route, RouteCall } from "./route.ts";

/** The generate extension: inference in words of flat JSON, answered at once or as server-sent events. */
export const GENERATE_ROUTES: { readonly [Name in HttpOnlyName]: Route } = {
  async generate(call) {
    const request = await readRequest(call);
    const response = await call.options.handlers.modelInfer(request, contextOf(call));
    return respond({ status: 200, contentType: "application/json", body: encodeGenerateResponse(response) });
  },

  async generateStream(call) {
    const request = await readRequest(call);
    const progress = { isAccepted: false };
    const context = { ...contextOf(call), onAccepted: () => void (progress.isAccepted = true) };
    try {
      const response = await call.options.handlers.modelInfer(request, context);
      return eventStream(200, encodeGenerateResponse(response));
    } catch (thrown) {
      // A refusal is an answer like any other; what the model itself answers is an event, also when it is an error.
      if (!progress.isAccepted) throw thrown;
      const error = InferenceError.from(thrown);
      return eventStream(httpStatusOf(error.code), encodeJson({ error: error.message }));
    }
  },
};

/** In Triton's order: is there the model, can the body be read, does it fit the model's inputs. */
async function readRequest(call: RouteCall): Promise<InferenceRequest> {
  const { reference, request, options, forwardHeaders } = call;
  const { inputs } = await options.handlers.modelMetadata(reference, contextOf(call));
  const encoding = headerValue(request.headers, "content-encoding") ?? "";
  if (encoding !== "" && encoding !== "identity") {
    throw new InferenceError("INVALID_ARG", "Unsupported content-encoding, only 'identity' is supported.");
  }
  const decoded = decodeGenerateRequest({
    ...reference,
    body: request.body,
    maxInputSize: options.maxInputSize,
    inputs,
  });
  return forwardHeaders(decoded, request.headers);
}

/** The status is that of the first event. The length is not known before the last one. */
function eventStream(status: number, first: Uint8Array): ExchangeResponse {
  return {
    status,
    headers: [["content-type", "text/event-stream; charset=utf-8"]],
    body: events(first),
  };
}

const UTF8 = new TextEncoder();

// eslint-disable-next-line @typescript-eslint/require-await -- a body in pieces is asynchronous, also where there is one piece
async function* events(first: Uint8Array): AsyncIterable<Uint8Array> {
  yield joined(UTF8.encode("data: "), first, UTF8.encode("\n\n"));
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}
