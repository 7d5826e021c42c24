import { type InferMessage, InferMessageWriter, parameterMembers } from "./infer-message.ts";
import { quoteJson } from "./json.ts";
import type { InferenceResponse } from "./messages.ts";
import { checkOutputSize } from "./output-size.ts";
import { type ResponseFormat, transferOf } from "./tensor-transfers.ts";

/**
 * Encodes a response, each output as `format` says, in the response's order. Throws INVALID_ARG for FP16 and BF16 outputs
 * in JSON, INTERNAL for an output whose bytes do not fit its shape. No output may still be on a device.
 */
export function encodeInferResponse(response: InferenceResponse, format: ResponseFormat): InferMessage {
  const writer = new InferMessageWriter();
  const id = response.id === "" ? "" : `"id":${quoteJson(response.id)},`;
  const version = quoteJson(response.modelVersion);
  const parameters = parameterMembers(Object.entries(response.parameters));
  writer.text(`{${id}"model_name":${quoteJson(response.modelName)},"model_version":${version},`);
  if (parameters !== "") writer.text(`"parameters":{${parameters}},`);
  writer.text('"outputs":[');
  response.outputs.forEach((output, index) => {
    const transfer = transferOf(format, output.name);
    if (transfer === "json") checkOutputSize(output);
    if (index > 0) writer.text(",");
    writer.tensor(output, transfer);
  });
  writer.text("]}");
  return writer.finish();
}
