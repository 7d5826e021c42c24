import { encodeInferResponse, type ExchangeResponse, headerValue, type InferMessage } from "@naiad/protocol";
import { chooseCoding } from "./content-coding.ts";
import { HEADER_LENGTH, isEncodingSupported, readInferBody } from "./infer-body.ts";
import { checkServable } from "./model-properties.ts";
import { errorText, type ResponseContent, respond } from "./responses.ts";
import type { Route, RouteCall } from "./route.ts";
import { tracedExchange, type TracedContext } from "./traced-exchange.ts";

export const inferRoute: Route = (call) => tracedExchange(call, (context) => infer(call, context));

async function infer(call: RouteCall, context: TracedContext): Promise<ExchangeResponse> {
  if (!isEncodingSupported(call)) {
    await checkServable(call);
    return unsupportedEncoding();
  }
  const { request, format } = await readInferBody(call)
    .then((decoded) => ({ ...decoded, request: call.forwardHeaders(decoded.request, call.request.headers) }))
    .catch(async (thrown: unknown) => {
      await checkServable(call);
      throw thrown;
    });
  const response = await call.options.handlers.modelInfer(request, context);
  context.onResponse();
  return respond(await compressed(inferContent(encodeInferResponse(response, format)), call));
}

function unsupportedEncoding(): ExchangeResponse {
  const response = errorText(501, "Unsupported compression type");
  return { ...response, headers: [...response.headers, ["accept-encoding", "gzip, deflate"]] };
}

/** Nothing but JSON is said to be JSON, also when all binary outputs are empty. */
function inferContent({ body, headerLength, binaryLength }: InferMessage): ResponseContent {
  if (binaryLength === 0) return { status: 200, contentType: "application/json", body };
  return {
    status: 200,
    contentType: "application/octet-stream",
    body,
    headers: [[HEADER_LENGTH, String(headerLength)]],
  };
}

/** The length of the JSON in the headers stays that of the body before it is packed. */
async function compressed(
  content: ResponseContent,
  { request, options }: RouteCall,
): Promise<ResponseContent> {
  const coding = chooseCoding(headerValue(request.headers, "accept-encoding"));
  if (options.compress === undefined || coding === "identity") return content;
  try {
    const body = await options.compress(coding, content.body);
    return { ...content, body, headers: [...(content.headers ?? []), ["content-encoding", coding]] };
  } catch {
    return content;
  }
}
