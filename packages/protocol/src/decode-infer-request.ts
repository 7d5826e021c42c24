import { type InferParameters, NO_PARAMETERS, readInferParameters } from "./infer-parameters.ts";
import { asString, elementsOf, findMember, memberAsArray } from "./json-access.ts";
import type { JsonNode } from "./json-node.ts";
import { readJson } from "./json-reader.ts";
import type { InferenceRequest } from "./messages.ts";
import { readInferInputs } from "./read-infer-inputs.ts";
import { readInferOutputs } from "./read-infer-outputs.ts";
import { InferenceError } from "./status.ts";
import type { ResponseFormat } from "./tensor-transfers.ts";

export interface InferRequestSource {
  readonly modelName: string;
  readonly modelVersion: string;
  /** The whole body. The request's tensors are views on it. */
  readonly body: Uint8Array;
  /** Bytes of the JSON at the body's beginning; binary tensor data follows. 0 is another protocol: `decodeRawInferRequest`. */
  readonly headerLength: number;
  /** Bytes that the JSON, and each tensor inside it, may have. */
  readonly maxInputSize: number;
}

export interface DecodedInferRequest {
  readonly request: InferenceRequest;
  readonly format: ResponseFormat;
}

/**
 * Decodes the body of an infer request, JSON with or without the binary tensor extension. Throws an InferenceError for
 * the first thing that is wrong, in Triton's order and with its text. Nothing is held against a model's configuration.
 */
export function decodeInferRequest(source: InferRequestSource): DecodedInferRequest {
  const { body, headerLength, modelName, modelVersion } = source;
  const root = parseRequestJson(body.subarray(0, headerLength), source.maxInputSize);

  const id = readId(root);
  const parameters = readParameters(root);
  const inputs = readInferInputs(memberAsArray(root, "inputs", "Unable to parse 'inputs'"), {
    ...source,
    id,
  });
  const outputs = readInferOutputs(readOutputNodes(root), id);

  const { sequence, priority, timeoutUs } = parameters;
  return {
    request: {
      modelName,
      modelVersion,
      id,
      parameters: parameters.custom,
      ...(sequence !== undefined && { sequence }),
      ...(priority !== undefined && { priority }),
      ...(timeoutUs !== undefined && { timeoutUs }),
      inputs,
      outputs: outputs.requested,
    },
    format: { default: parameters.defaultTransfer, byName: outputs.transfers },
  };
}

/** Parses the JSON of any request to the server, within the limit of `--http-max-input-size`. */
export function parseRequestJson(bytes: Uint8Array, maxInputSize: number): JsonNode {
  if (bytes.length > maxInputSize) {
    throw new InferenceError(
      "INVALID_ARG",
      `request JSON size of ${String(bytes.length)} bytes exceeds the maximum allowed input size of ` +
        `${String(maxInputSize)} bytes. Use --http-max-input-size to increase the limit.`,
    );
  }
  return readJson(bytes);
}

function readId(root: JsonNode): string {
  const node = findMember(root, "id");
  return node === undefined ? "" : asString(node, "Unable to parse 'id'");
}

function readParameters(root: JsonNode): InferParameters {
  const node = findMember(root, "parameters");
  return node === undefined ? NO_PARAMETERS : readInferParameters(node);
}

function readOutputNodes(root: JsonNode): readonly JsonNode[] {
  if (findMember(root, "outputs") === undefined) return [];
  return elementsOf(memberAsArray(root, "outputs", "Unable to parse 'outputs'"));
}
