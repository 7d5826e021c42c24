import { InferenceError } from "@naiad/protocol";
import type { ModelInferRequest } from "./gen/grpc_service_pb.ts";
import { beginTrace } from "./edge-trace.ts";
import type { InferCall } from "./infer-call.ts";
import { readInferRequest } from "./read-infer-request.ts";
import { requireOneResponse } from "./transaction-policy.ts";
import { type InferResponseInit, writeInferResponse } from "./write-infer-response.ts";

/** One request, one response. */
export async function modelInfer(message: ModelInferRequest, call: InferCall): Promise<InferResponseInit> {
  const { handlers, forwardMetadata, headers, maxMessageSize, signal } = call;
  const trace = beginTrace(call, message.modelName);
  try {
    const request = forwardMetadata(readInferRequest(message).request, headers);
    const response = await handlers.modelInfer(request, { signal, ...(trace !== undefined && { trace }) });
    trace?.trace?.mark("GRPC_SEND_START");
    const init = writeInferResponse(response, maxMessageSize);
    trace?.trace?.mark("GRPC_SEND_END");
    return init;
  } catch (thrown) {
    trace?.trace?.mark("GRPC_SEND_START");
    trace?.trace?.mark("GRPC_SEND_END");
    if (mayBeDecoupled(InferenceError.from(thrown))) await requireOneResponse(message, handlers, { signal });
    throw thrown;
  } finally {
    trace?.trace?.end();
  }
}

/** A fault of the request, which a decoupled model would not have been looked at for, or the refusal of such a model. */
function mayBeDecoupled({ code }: InferenceError): boolean {
  return code === "INVALID_ARG" || code === "UNSUPPORTED" || code === "NOT_FOUND";
}
