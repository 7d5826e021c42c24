import { type InferMessage, InferMessageWriter, parameterMembers } from "./infer-message.ts";
import { checkCustomParameters, specialParameters } from "./infer-parameters.ts";
import { quoteJson } from "./json.ts";
import type { InferenceRequest, ParameterValue, RequestedOutput } from "./messages.ts";
import { InferenceError } from "./status.ts";
import type { Tensor } from "./tensor.ts";
import { type TensorTransfer, type TensorTransfers, transferOf } from "./tensor-transfers.ts";

export interface InferRequestFormat {
  readonly inputs: TensorTransfers;
  /** What the response is asked to do. */
  readonly outputs: TensorTransfers;
}

/**
 * Encodes a request as a client sends it. `headerLength` belongs into the `Inference-Header-Content-Length` header when
 * any input travels in binary. Throws INVALID_ARG for FP16 and BF16 inputs in JSON and for custom parameters with
 * a reserved name. Model name and version are not part of the body.
 */
export function encodeInferRequest(request: InferenceRequest, format: InferRequestFormat): InferMessage {
  checkCustomParameters(request.parameters);
  const writer = new InferMessageWriter();
  writer.text("{");
  if (request.id !== "") writer.text(`"id":${quoteJson(request.id)},`);
  const parameters = parameterMembers([
    ...specialParameters(request),
    ...defaultTransferParameter(format.outputs.default),
    ...Object.entries(request.parameters),
  ]);
  if (parameters !== "") writer.text(`"parameters":{${parameters}},`);
  writer.text('"inputs":[');
  request.inputs.forEach((input, index) => {
    const transfer = transferOf(format.inputs, input.name);
    if (transfer === "json") checkJsonInput(input);
    if (index > 0) writer.text(",");
    writer.tensor(input, transfer);
  });
  writer.text("]");
  if (request.outputs.length > 0) {
    const outputs = request.outputs.map((output) =>
      outputText(output, transferOf(format.outputs, output.name)),
    );
    writer.text(`,"outputs":[${outputs.join(",")}]`);
  }
  writer.text("}");
  return writer.finish();
}

function defaultTransferParameter(transfer: TensorTransfer): readonly (readonly [string, ParameterValue])[] {
  return transfer === "binary" ? [["binary_data_output", true]] : [];
}

function checkJsonInput(input: Tensor): void {
  if (input.datatype !== "FP16" && input.datatype !== "BF16") return;
  throw new InferenceError(
    "INVALID_ARG",
    `${input.datatype} inputs must be sent as binary data over HTTP: input '${input.name}'`,
  );
}

function outputText(output: RequestedOutput, transfer: TensorTransfer): string {
  const classes = output.classCount === undefined ? "" : `"classification":${String(output.classCount)},`;
  const isBinary = String(transfer === "binary");
  return `{"name":${quoteJson(output.name)},"parameters":{${classes}"binary_data":${isBinary}}}`;
}
