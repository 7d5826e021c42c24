import { InferenceError, type InferenceResponse, invariant, type Tensor } from "@naiad/protocol";
import { type ParameterInit, writeParameters } from "./infer-parameter.ts";

/** A ModelInferResponse; what is absent is empty. */
export interface InferResponseInit {
  modelName?: string;
  modelVersion?: string;
  id: string;
  parameters?: Record<string, ParameterInit>;
  outputs?: { name: string; datatype: string; shape: bigint[] }[];
  rawOutputContents?: Uint8Array[];
}

/** Content is always raw. Throws INVALID_ARG where it is more than a message may have. */
export function writeInferResponse(response: InferenceResponse, maxMessageSize: number): InferResponseInit {
  const { modelName, modelVersion, id, parameters, outputs } = response;
  const rawOutputContents = outputs.map(contentOf);
  const byteLength = rawOutputContents.reduce((sum, { length }) => sum + length, 0);
  if (byteLength > maxMessageSize) {
    throw new InferenceError(
      "INVALID_ARG",
      `Response has byte size ${byteLength} which exceeds gRPC's byte size limit ${maxMessageSize}.`,
    );
  }
  return {
    modelName,
    modelVersion,
    id,
    parameters: writeParameters(parameters),
    outputs: outputs.map(({ name, datatype, shape }) => ({ name, datatype, shape: shape.map(BigInt) })),
    rawOutputContents,
  };
}

function contentOf(output: Tensor): Uint8Array {
  invariant(output.kind === "bytes", `output '${output.name}' is still on a device`);
  return output.bytes;
}
