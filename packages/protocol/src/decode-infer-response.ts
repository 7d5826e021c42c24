import { type Datatype, isDatatype } from "./datatype.ts";
import { readResponseParameters } from "./infer-parameters.ts";
import { asString, asUnsigned, elementsOf, findMember, memberAsArray, requireMember } from "./json-access.ts";
import type { JsonNode } from "./json-node.ts";
import { readJson } from "./json-reader.ts";
import type { InferenceResponse } from "./messages.ts";
import { readJsonData } from "./read-json-data.ts";
import { InferenceError } from "./status.ts";
import { type BytesTensor, elementCount } from "./tensor.ts";

export interface InferResponseSource {
  /** The whole body. Binary outputs are views on it. */
  readonly body: Uint8Array;
  /** The value of `Inference-Header-Content-Length`, absent when the body is all JSON. */
  readonly headerLength?: number;
}

/**
 * Decodes a successful infer response as a client receives it. Throws an InferenceError for anything that is none. What the protocol
 * leaves optional may be null too, as servers in Python have it: a version and an id are empty then.
 */
export function decodeInferResponse(source: InferResponseSource): InferenceResponse {
  const { body, headerLength = body.length } = source;
  if (!Number.isInteger(headerLength) || headerLength < 0 || headerLength > body.length) {
    throw malformed(`the header length ${String(headerLength)} is outside of ${String(body.length)} bytes`);
  }
  const root = readJson(body.subarray(0, headerLength));
  const parameters = findMember(root, "parameters") ?? null;
  return {
    modelName: readText(root, "model_name"),
    modelVersion: readOptionalText(root, "model_version"),
    id: readOptionalText(root, "id"),
    parameters: parameters === null ? {} : readResponseParameters(parameters),
    outputs: readOutputs(root, body, headerLength),
  };
}

function malformed(message: string): InferenceError {
  return new InferenceError("INTERNAL", `malformed inference response: ${message}`);
}

function readText(node: JsonNode, name: string): string {
  const context = `Unable to parse '${name}'`;
  return asString(requireMember(node, name, context), context);
}

function readOptionalText(node: JsonNode, name: string): string {
  const value = findMember(node, name) ?? null;
  return value === null ? "" : asString(value, `Unable to parse '${name}'`);
}

function readOutputs(root: JsonNode, body: Uint8Array, headerLength: number): readonly BytesTensor[] {
  let offset = headerLength;
  return elementsOf(memberAsArray(root, "outputs", "Unable to parse 'outputs'")).map((node): BytesTensor => {
    const name = readText(node, "name");
    const datatype = readDatatype(node);
    const shape = elementsOf(memberAsArray(node, "shape", "Unable to parse 'shape'")).map((dim) =>
      Number(asUnsigned(dim, "Unable to parse 'shape'")),
    );
    const size = findMember(findMember(node, "parameters") ?? null, "binary_data_size");
    if (size === undefined) {
      const bytes = readJsonOutput(node, { name, datatype, shape, bodyLength: body.length });
      return { kind: "bytes", name, datatype, shape, bytes };
    }
    const end = offset + Number(asUnsigned(size, "Unable to parse 'binary_data_size'"));
    if (end > body.length) throw malformed(`output '${name}' ends behind the body`);
    const bytes = body.subarray(offset, end);
    offset = end;
    return { kind: "bytes", name, datatype, shape, bytes };
  });
}

function readDatatype(node: JsonNode): Datatype {
  const text = readText(node, "datatype");
  if (isDatatype(text)) return text;
  throw malformed(`unknown datatype '${text}'`);
}

function readJsonOutput(node: JsonNode, output: JsonOutput): Uint8Array {
  const { name, datatype, shape, bodyLength } = output;
  const data = memberAsArray(node, "data", "Unable to parse 'data'");
  if (datatype === "FP16" || datatype === "BF16") throw malformed(`${datatype} output '${name}' in JSON`);
  const count = shape.includes(0) ? 0 : elementCount(shape);
  // An element takes one byte of JSON at least: nothing is allocated for a shape that cannot be true.
  if (count > bodyLength) throw malformed(`output '${name}' has too little data for its shape`);
  return readJsonData(data, { name, datatype, elementCount: count, maxByteSize: Number.MAX_SAFE_INTEGER });
}

interface JsonOutput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly bodyLength: number;
}
