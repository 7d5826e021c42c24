import { parseRequestJson } from "./decode-infer-request.ts";
import { readGenerateInput } from "./read-generate-input.ts";
import { defineParameter } from "./collect-parameters.ts";
import { readCustomParameter } from "./infer-parameters.ts";
import { asString, findMember, membersOf } from "./json-access.ts";
import type { JsonNode } from "./json-node.ts";
import { memberNames } from "./json-reader.ts";
import type { InferenceRequest, ParameterValue, TensorMetadata } from "./messages.ts";
import { requestIdPrefix } from "./request-id.ts";
import { InferenceError } from "./status.ts";
import type { BytesTensor } from "./tensor.ts";

export interface GenerateRequestSource {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly body: Uint8Array;
  /** Bytes that the JSON, and all inputs in it together, may have. */
  readonly maxInputSize: number;
  /** The model's inputs as its metadata names them: with the batch dimension where there is one. */
  readonly inputs: readonly TensorMetadata[];
}

/**
 * The request behind a body of the generate extension: a flat JSON object whose members are inputs where the model has one
 * of that name, and parameters where it has none. Throws an InferenceError for the first thing that is wrong, in Triton's
 * order and with its text.
 */
export function decodeGenerateRequest(source: GenerateRequestSource): InferenceRequest {
  const { modelName, modelVersion } = source;
  const root = parseRequestJson(source.body, source.maxInputSize);
  const idNode = findMember(root, "id");
  const id = idNode === undefined ? "" : asString(idNode, "Unable to parse 'id'");
  const inputs = new Map<string, BytesTensor>();
  const parameters: Record<string, ParameterValue> = {};
  let byteSize = 0;

  function takeMembers(node: JsonNode, level: "top" | "nested"): void {
    const members = membersOf(node);
    for (const name of memberNames(members)) {
      const value = members.get(name) ?? null;
      if (level === "top" && name === NESTED) takeNested(value);
      else takeMember(name, value);
    }
  }

  function takeNested(value: JsonNode): void {
    if (source.inputs.some((input) => input.name === NESTED)) {
      throw invalid(`Keyword '${NESTED}' for nested schema also given as input tensor name`);
    }
    if (!(value instanceof Map)) throw invalid(`Expected JSON object for keyword: '${NESTED}'`);
    try {
      takeMembers(value, "nested");
    } catch (thrown) {
      const { code, message } = InferenceError.from(thrown);
      throw new InferenceError(code, `Converting keyword: '${NESTED}': ${message}`);
    }
  }

  function takeMember(name: string, value: JsonNode): void {
    const metadata = source.inputs.find((input) => input.name === name);
    if (metadata === undefined) {
      defineParameter(parameters, name, readCustomParameter(name, value));
      return;
    }
    const input = readGenerateInput(value, metadata, { consumed: byteSize, limit: source.maxInputSize });
    if (inputs.has(name)) {
      throw invalid(`${requestIdPrefix(id)}input '${name}' already exists in request`);
    }
    byteSize += input.bytes.length;
    inputs.set(name, input);
  }

  takeMembers(root, "top");
  return { modelName, modelVersion, id, parameters, inputs: [...inputs.values()], outputs: [] };
}

/** The member whose members count as if they stood beside it. */
const NESTED = "parameters";

function invalid(message: string): InferenceError {
  return new InferenceError("INVALID_ARG", message);
}
