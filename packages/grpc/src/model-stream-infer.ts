import { createResponseStream, type ResponseStream } from "@naiad/core";
import { InferenceError, type InferenceStreamResponse } from "@naiad/protocol";
import { beginTrace, type EdgeTracingOf } from "./edge-trace.ts";
import type { ModelInferRequest } from "./gen/grpc_service_pb.ts";
import type { InferCall } from "./infer-call.ts";
import { readInferRequest } from "./read-infer-request.ts";
import {
  emptyFinal,
  failure,
  type Finality,
  refusal,
  response,
  type StreamResponseInit,
} from "./stream-responses.ts";
import { isDecoupled } from "./transaction-policy.ts";

/** Responses that wait for the client, of all requests of a stream. */
const CAPACITY = 16;
/** Requests of a stream that are not answered to the end; more are not read before some are. */
const MAX_OPEN_REQUESTS = 1024;

/**
 * Any number of requests at once, each with any number of responses. Requests are taken on in their order. Those to models
 * that give one response are answered in that order too, those to decoupled ones as the responses come. An error is a
 * response; with the header `triton_grpc_error: true` the first error of a request that was taken on is the status and the
 * end of the call. `requests` must end or throw once `call.signal` has fired.
 */
export async function* modelStreamInfer(
  requests: AsyncIterable<ModelInferRequest>,
  call: InferCall,
): AsyncGenerator<StreamResponseInit> {
  const responses = createResponseStream<StreamResponseInit>({
    capacity: CAPACITY,
    onLeave: () => undefined,
  });
  const onAbort = (): void => {
    responses.abort(new InferenceError("CANCELLED", "request was cancelled"));
  };
  call.signal.addEventListener("abort", onAbort, { once: true });
  if (call.signal.aborted) onAbort();
  void answerAll(requests, call, responses);
  try {
    yield* responses.items;
  } finally {
    call.signal.removeEventListener("abort", onAbort);
  }
}

type Responses = ResponseStream<StreamResponseInit>;

/** Never rejects: what the requests end with is what the responses end with. */
async function answerAll(
  requests: AsyncIterable<ModelInferRequest>,
  call: InferCall,
  responses: Responses,
): Promise<void> {
  const open = new Set<Promise<void>>();
  let lastInOrder: Promise<void> = Promise.resolve();
  let onRoom = (): void => undefined;
  try {
    let waitNs = call.tracing?.nowNs();
    for await (const message of requests) {
      if (call.signal.aborted) return;
      const begun = await begin(message, call, waitNs);
      const send = (): Promise<void> => sendAnswer(begun, call, responses);
      const sent = begun.order === "as they come" ? send() : lastInOrder.then(send);
      if (begun.order === "of the requests") lastInOrder = sent;
      open.add(sent);
      void sent.then(() => {
        open.delete(sent);
        onRoom();
      });
      while (open.size >= MAX_OPEN_REQUESTS) {
        await new Promise<void>((resolve) => {
          onRoom = resolve;
        });
      }
      waitNs = call.tracing?.nowNs();
    }
    await Promise.all(open);
    responses.end();
  } catch (thrown) {
    responses.fail(InferenceError.from(thrown));
  }
}

/** A request that was read, and what became of it. */
type Begun = {
  readonly message: ModelInferRequest;
  readonly order: "of the requests" | "as they come";
  readonly trace: EdgeTracingOf | undefined;
} & (
  | {
      readonly kind: "taken on";
      readonly items: AsyncIterable<InferenceStreamResponse>;
      readonly emptyFinalResponse: boolean;
    }
  | { readonly kind: "refused"; readonly error: InferenceError }
);

/** Resolves when the request has its place in the model's queue. */
async function begin(
  message: ModelInferRequest,
  call: InferCall,
  waitNs: number | undefined,
): Promise<Begun> {
  const { handlers, forwardMetadata, headers, signal } = call;
  const trace = beginTrace(call, message.modelName, waitNs);
  let order: Begun["order"] = "of the requests";
  try {
    if (await isDecoupled(message, handlers, { signal })) order = "as they come";
    const { request, emptyFinalResponse } = readInferRequest(message);
    const items = await handlers.modelStreamInfer(forwardMetadata(request, headers), {
      signal,
      ...(trace !== undefined && { trace }),
    });
    return { kind: "taken on", message, order, trace, items, emptyFinalResponse };
  } catch (thrown) {
    return { kind: "refused", message, order, trace, error: InferenceError.from(thrown) };
  }
}

/** Never rejects. */
async function sendAnswer(begun: Begun, call: InferCall, responses: Responses): Promise<void> {
  const trace = begun.trace?.trace;
  const push = async (response: StreamResponseInit): Promise<void> => {
    trace?.mark("GRPC_SEND_START");
    await responses.push(response);
    trace?.mark("GRPC_SEND_END");
  };
  try {
    await pushAnswer(begun, call, { ...responses, push });
  } finally {
    trace?.end();
  }
}

async function pushAnswer(
  begun: Begun,
  call: InferCall,
  responses: Pick<Responses, "push" | "fail">,
): Promise<void> {
  const { message } = begun;
  if (begun.kind === "refused") {
    await responses.push(refusal(message, begun.error.message));
    return;
  }
  const sendError = async (thrown: unknown, finality: Finality): Promise<void> => {
    const error = InferenceError.from(thrown);
    if (call.headers.get("triton_grpc_error") === "true") responses.fail(error);
    else await responses.push(failure(message, error.message, finality));
  };
  const sendItem = async (item: InferenceStreamResponse, finality: Finality): Promise<void> => {
    let init: StreamResponseInit;
    try {
      if (item.error !== undefined) throw InferenceError.from(item.error);
      init = response(item, finality, call.maxMessageSize);
    } catch (thrown) {
      await sendError(thrown, finality);
      return;
    }
    await responses.push(init);
  };
  const { items, emptyFinalResponse } = begun;
  let last: Finality = "more to come";
  try {
    for await (const item of items) {
      last = item.final === true ? "final" : "more to come";
      await sendItem(item, last);
    }
  } catch (thrown) {
    await sendError(thrown, "final");
    return;
  }
  if (last === "more to come" && emptyFinalResponse) await responses.push(emptyFinal(message));
}
