import {
  type BytesTensor,
  InferenceError,
  type InferenceRequest,
  isDatatype,
  type RequestedOutput,
  requestShape,
} from "@naiad/protocol";
import type {
  ModelInferRequest,
  ModelInferRequest_InferInputTensor,
  ModelInferRequest_InferRequestedOutputTensor,
} from "./gen/grpc_service_pb.ts";
import { wrongType } from "./infer-parameter.ts";
import { readRequestParameters } from "./read-request-parameters.ts";
import { readTypedContents } from "./read-typed-contents.ts";
import { readSharedMemoryRegion, unknownRegion } from "./shared-memory-parameters.ts";

export interface ReadInferRequest {
  readonly request: InferenceRequest;
  readonly emptyFinalResponse: boolean;
}

/** Raw tensors are views on the message's buffer. Throws an InferenceError with Triton's text. */
export function readInferRequest(message: ModelInferRequest): ReadInferRequest {
  const { modelName, modelVersion, id } = message;
  const { custom, emptyFinalResponse, ...fields } = readRequestParameters(message.parameters);
  const inputs = readInputs(message);
  const outputs = message.outputs.map(readOutput);
  const request = { modelName, modelVersion, id, parameters: custom, ...fields, inputs, outputs };
  return { request, emptyFinalResponse };
}

function readInputs({ modelName, inputs, rawInputContents }: ModelInferRequest): readonly BytesTensor[] {
  let nextRaw = 0;
  const contentOf = (
    input: ModelInferRequest_InferInputTensor,
    datatype: BytesTensor["datatype"],
  ): Uint8Array => {
    const { name, contents } = input;
    const region = readSharedMemoryRegion(input);
    if (region !== undefined) {
      if (contents === undefined) throw unknownRegion(region);
      throw invalid(
        `unexpected 'content' provided when using shared memory for input tensor '${name}' for model '${modelName}'`,
      );
    }
    if (contents !== undefined) {
      if (rawInputContents.length === 0) return readTypedContents(contents, { name, modelName, datatype });
      throw invalid(
        `contents field must not be specified when using raw_input_contents for '${name}' for model '${modelName}'`,
      );
    }
    const raw = rawInputContents[nextRaw];
    nextRaw += 1;
    if (raw !== undefined) return raw;
    throw invalid(`unable to find data for input tensor '${name}' for model '${modelName}' in request.`);
  };
  return inputs.map((input): BytesTensor => {
    const { name, datatype } = input;
    if (!isDatatype(datatype)) throw invalid(`invalid datatype for input ${name}`);
    const shape = requestShape(input.shape, name);
    return { kind: "bytes", name, datatype, ...shape, bytes: contentOf(input, datatype) };
  });
}

function readOutput(output: ModelInferRequest_InferRequestedOutputTensor): RequestedOutput {
  const { name } = output;
  const region = readSharedMemoryRegion(output);
  const classCount = readClassCount(output);
  if (region !== undefined) {
    if (classCount === undefined) throw unknownRegion(region);
    throw invalid("output can't set both 'shared_memory_region' and 'classification'");
  }
  return classCount === undefined ? { name } : { name, classCount };
}

function readClassCount({ parameters }: ModelInferRequest_InferRequestedOutputTensor): number | undefined {
  const choice = parameters["classification"]?.parameterChoice;
  if (choice === undefined) return undefined;
  if (choice.case !== "int64Param") throw wrongType("classification", "int64_param");
  // So Triton says it, and means more than 0.
  if (choice.value <= 0n) throw invalid("invalid value for 'classification' parameter, expected >= 0");
  return Number(choice.value);
}

function invalid(message: string): InferenceError {
  return new InferenceError("INVALID_ARG", message);
}
