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
  type InferenceStreamResponse,
  type WireError,
} from "@naiad/protocol";
import { contextOf, errorResponse, errorText, respond } from "./responses.ts";
import type { Route, RouteCall } from "./route.ts";
import { tracedExchange, type TracedContext } from "./traced-exchange.ts";

/** The generate extension: inference in words of flat JSON, answered at once or as server-sent events. */
export const GENERATE_ROUTES: { readonly [Name in HttpOnlyName]: Route } = {
  generate: (call) => tracedExchange(call, (context) => generate(call, context)),
  generateStream: (call) => tracedExchange(call, (context) => generateStream(call, context)),
};

async function generate(call: RouteCall, context: TracedContext): Promise<ExchangeResponse> {
  const request = await readRequest(call);
  const responses = await call.options.handlers.modelStreamInfer(request, context);
  const given: InferenceStreamResponse[] = [];
  for await (const response of responses) {
    given.push(response);
    // Whatever else comes, it is too much; leaving the loop spares the model the rest.
    if (given.length > 1) break;
  }
  context.onResponse();
  const [first] = given;
  if (first === undefined) return errorText(httpStatusOf("INTERNAL"), NOT_ONE);
  // As in Triton, where the status is fixed by the time that the second response comes.
  if (given.length > 1) return errorText(first.error === undefined ? 200 : statusOf(first.error), NOT_ONE);
  if (first.error !== undefined) return errorResponse(first.error);
  return respond({ status: 200, contentType: "application/json", body: encodeGenerateResponse(first) });
}

async function generateStream(call: RouteCall, context: TracedContext): Promise<ExchangeResponse> {
  const request = await readRequest(call);
  // A refusal is an answer like any other; what the model itself answers is an event, also when it is an error.
  const events = eventsOf(await call.options.handlers.modelStreamInfer(request, context));
  const first = await events.next();
  context.onResponse();
  return {
    status: first.done === true ? 200 : first.value.status,
    headers: [["content-type", "text/event-stream; charset=utf-8"]],
    body: first.done === true ? new Uint8Array(0) : bodyOf(first.value, events),
  };
}

const NOT_ONE =
  "generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses";

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

interface ServerSentEvent {
  /** Of the whole answer, where it is the first. */
  readonly status: number;
  readonly bytes: Uint8Array;
}

/** One event for each response, and one for what ends them before their end. */
async function* eventsOf(
  responses: AsyncIterable<InferenceStreamResponse>,
): AsyncGenerator<ServerSentEvent, void> {
  try {
    for await (const response of responses) yield eventOf(response);
  } catch (thrown) {
    yield errorEvent(InferenceError.from(thrown).toWire());
  }
}

function eventOf(response: InferenceStreamResponse): ServerSentEvent {
  if (response.error !== undefined) return errorEvent(response.error);
  try {
    return { status: 200, bytes: framed(encodeGenerateResponse(response)) };
  } catch (thrown) {
    return errorEvent(InferenceError.from(thrown).toWire());
  }
}

function errorEvent(error: WireError): ServerSentEvent {
  return { status: statusOf(error), bytes: framed(encodeJson({ error: error.message })) };
}

function statusOf({ code }: WireError): number {
  return httpStatusOf(code);
}

/** Event by event, as they are asked for. Who stops asking ends the request. */
async function* bodyOf(
  first: ServerSentEvent,
  rest: AsyncGenerator<ServerSentEvent, void>,
): AsyncIterable<Uint8Array> {
  try {
    yield first.bytes;
    for await (const { bytes } of rest) yield bytes;
  } finally {
    await rest.return();
  }
}

const UTF8 = new TextEncoder();

function framed(data: Uint8Array): Uint8Array {
  const [before, after] = [UTF8.encode("data: "), UTF8.encode("\n\n")];
  const event = new Uint8Array(before.length + data.length + after.length);
  event.set(before);
  event.set(data, before.length);
  event.set(after, before.length + data.length);
  return event;
}
