import { ByteWriter } from "./byte-writer.ts";
import { parameterText } from "./infer-message.ts";
import { quoteJson } from "./json.ts";
import type { InferenceResponse } from "./messages.ts";
import { checkOutputSize } from "./output-size.ts";
import { invariant } from "./status.ts";
import { elementCount, type Tensor } from "./tensor.ts";
import { writeJsonData, writeJsonElements } from "./write-json-data.ts";

/**
 * A response as the generate extension writes it: one JSON object of outputs, response parameters and what names the
 * model, sorted by name; of equal names the model's own goes first, then the parameter. Outputs of one element are scalars,
 * all others flat arrays. Throws as `encodeInferResponse`.
 */
export function encodeGenerateResponse(response: InferenceResponse): Uint8Array<ArrayBuffer> {
  const { id, modelName, modelVersion, parameters, outputs } = response;
  const members = new Map<string, string | Tensor>(outputs.map((output) => [output.name, output]));
  for (const [name, value] of Object.entries(parameters)) members.set(name, parameterText(value));
  members.set("model_name", quoteJson(modelName)).set("model_version", quoteJson(modelVersion));
  if (id !== "") members.set("id", quoteJson(id));

  const writer = new ByteWriter(256);
  let separator = "{";
  for (const [name, value] of [...members].sort(byName)) {
    writer.text(`${separator}${quoteJson(name)}:`);
    separator = ",";
    if (typeof value === "string") writer.text(value);
    else writeOutput(writer, value);
  }
  writer.text("}");
  return writer.view().slice();
}

function byName([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
  return left < right ? -1 : 1;
}

function writeOutput(writer: ByteWriter, output: Tensor): void {
  invariant(output.kind === "bytes", `tensor '${output.name}' is still on a device`);
  checkOutputSize(output);
  if (elementCount(output.shape) === 1) writeJsonElements(writer, output);
  else writeJsonData(writer, output);
}
