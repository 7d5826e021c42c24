import type { DecodedInferRequest } from "./decode-infer-request.ts";
import { elementByteSize, isDatatype } from "./datatype.ts";
import { encodeBytesElements } from "./elements.ts";
import type { TensorMetadata } from "./messages.ts";
import { requestIdPrefix } from "./request-id.ts";
import { InferenceError } from "./status.ts";
import { type BytesTensor, elementCount } from "./tensor.ts";
import { allTensors } from "./tensor-transfers.ts";

export interface RawInferRequestSource {
  readonly modelName: string;
  readonly modelVersion: string;
  /** The content of the only input, nothing else. */
  readonly body: Uint8Array;
  readonly maxInputSize: number;
  /** The model's inputs as its metadata names them: with the batch dimension where there is one. */
  readonly inputs: readonly TensorMetadata[];
  /** Whether the model's first dimension is the batch. */
  readonly batching: "batched" | "single";
}

/**
 * The request behind a body without any JSON (`Inference-Header-Content-Length: 0`): one input, whose shape follows from
 * the body's length, and all outputs in binary. Throws INVALID_ARG with Triton's texts.
 */
export function decodeRawInferRequest(source: RawInferRequestSource): DecodedInferRequest {
  const { modelName, modelVersion, body, maxInputSize } = source;
  if (body.length > maxInputSize) {
    throw new InferenceError(
      "INVALID_ARG",
      `Raw input has a byte_size (${String(body.length)} bytes) that exceeds the maximum allowed value of ` +
        `${String(maxInputSize)} bytes. Use --http-max-input-size to increase the limit.`,
    );
  }
  return {
    request: {
      modelName,
      modelVersion,
      id: "",
      parameters: {},
      inputs: [deduceInput(source)],
      outputs: [],
    },
    format: allTensors("binary"),
  };
}

function deduceInput(source: RawInferRequestSource): BytesTensor {
  const { body, inputs, modelName } = source;
  const [input] = inputs;
  if (input === undefined || inputs.length !== 1) {
    throw invalid(
      `Raw request must only have 1 input (found 1) to be deduced but got ${String(inputs.length)} inputs in ` +
        `'${modelName}' model configuration`,
    );
  }
  const { name, datatype } = input;
  if (!isDatatype(datatype)) throw invalid(`invalid datatype for input ${name}`);
  const batchDims = source.batching === "batched" ? [1] : [];
  const dims = input.shape.slice(batchDims.length);
  if (datatype === "BYTES") {
    if (dims.length !== 1 || dims[0] !== 1) {
      throw invalid(`For BYTE datatype raw input '${name}', the model must have input shape [1]`);
    }
    return { kind: "bytes", name, datatype, shape: [...batchDims, 1], bytes: encodeBytesElements([body]) };
  }
  const shape = [...batchDims, ...deduceDims(dims, body.length / elementByteSize(datatype), name)];
  const expected = elementCount(shape) * elementByteSize(datatype);
  if (body.length !== expected) {
    throw invalid(
      `input byte size mismatch for input 'raw_input' for model '${modelName}'. ` +
        `Expected ${String(expected)}, got ${String(body.length)}`,
    );
  }
  return { kind: "bytes", name, datatype, shape, bytes: body };
}

/** One dimension may be variable and takes what remains. */
function deduceDims(dims: readonly number[], count: number, input: string): readonly number[] {
  if (dims.filter((dim) => dim < 0).length > 1) {
    throw invalid(
      `The shape of the raw input '${input}' can not be deduced because there are more than one variable-sized dimension`,
    );
  }
  const fixed = elementCount(dims.filter((dim) => dim >= 0));
  const rest = fixed === 0 ? 0 : Math.floor(count / fixed);
  return dims.map((dim) => (dim < 0 ? rest : dim));
}

/** A raw request has no id. */
function invalid(message: string): InferenceError {
  return new InferenceError("INVALID_ARG", requestIdPrefix("") + message);
}
