import { encodeInferResponse, type ExchangeResponse, type InferMessage } from "@naiad/protocol";
import { HEADER_LENGTH, isEncodingSupported, readInferBody } from "./infer-body.ts";
import { checkServable } from "./model-properties.ts";
import { errorText, respond } from "./responses.ts";
import type { Route } from "./route.ts";

export const inferRoute: Route = async (call) => {
  if (!isEncodingSupported(call)) {
    await checkServable(call);
    return unsupportedEncoding();
  }
  const decoded = await readInferBody(call).catch(async (thrown: unknown) => {
    await checkServable(call);
    throw thrown;
  });
  const response = await call.options.handlers.modelInfer(decoded.request, { signal: call.request.signal });
  return inferResponse(encodeInferResponse(response, decoded.format));
};

function unsupportedEncoding(): ExchangeResponse {
  const response = errorText(501, "Unsupported compression type");
  return { ...response, headers: [...response.headers, ["accept-encoding", "gzip, deflate"]] };
}

/** Nothing but JSON is said to be JSON, also when all binary outputs are empty. */
function inferResponse({ body, headerLength, binaryLength }: InferMessage): ExchangeResponse {
  if (binaryLength === 0) return respond({ status: 200, contentType: "application/json", body });
  return respond({
    status: 200,
    contentType: "application/octet-stream",
    body,
    headers: [[HEADER_LENGTH, String(headerLength)]],
  });
}
