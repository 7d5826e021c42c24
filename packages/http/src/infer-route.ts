import {
  classifyOutput,
  encodeInferResponse,
  type ExchangeResponse,
  type InferenceRequest,
  type InferenceResponse,
  type InferMessage,
  invariant,
  type RequestedOutput,
  type Tensor,
} from "@naiad/protocol";
import { HEADER_LENGTH, isEncodingSupported, readInferBody } from "./infer-body.ts";
import { checkServable, modelBatching } from "./model-properties.ts";
import { errorText, respond } from "./responses.ts";
import type { Route, RouteCall } from "./route.ts";

export const inferRoute: Route = async (call) => {
  if (!isEncodingSupported(call)) {
    await checkServable(call);
    return unsupportedEncoding();
  }
  const decoded = await readInferBody(call).catch(async (thrown: unknown) => {
    await checkServable(call);
    throw thrown;
  });
  const { handlers } = call.options;
  const wanted = decoded.request.outputs.filter((output) => output.classCount !== undefined);
  const request = wanted.length === 0 ? decoded.request : withoutClasses(decoded.request);
  const response = await handlers.modelInfer(request, { signal: call.request.signal });
  const answer = wanted.length === 0 ? response : await classify(call, response, wanted);
  return inferResponse(encodeInferResponse(answer, decoded.format));
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

/** The classification extension is a matter of this frontend: the model gives whole tensors. */
function withoutClasses(request: InferenceRequest): InferenceRequest {
  return { ...request, outputs: request.outputs.map(({ name }) => ({ name })) };
}

async function classify(
  call: RouteCall,
  response: InferenceResponse,
  wanted: readonly RequestedOutput[],
): Promise<InferenceResponse> {
  const { modelName, modelVersion } = response;
  const batching = await modelBatching(call, { modelName, modelVersion });
  const classCounts = new Map(wanted.map(({ name, classCount = 0 }) => [name, classCount]));
  const outputs = response.outputs.map(async (output): Promise<Tensor> => {
    const classCount = classCounts.get(output.name);
    if (classCount === undefined) return output;
    invariant(output.kind === "bytes", `output '${output.name}' is still on a device`);
    const labels = await call.options.labels?.(modelName, modelVersion, output.name);
    return classifyOutput(output, { classCount, batching, ...(labels !== undefined && { labels }) });
  });
  return { ...response, outputs: await Promise.all(outputs) };
}
