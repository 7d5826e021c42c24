import type { InstanceRequest } from "@naiad/core";
import type { BytesTensor, Tensor } from "@naiad/protocol";
import { InferenceError, elementCount, tensorByteSize } from "@naiad/protocol";
import { decodeTexts } from "./datatypes.ts";
import type { SessionIo, SessionTensor } from "./session-io.ts";

/** A request whose every tensor the session will take. */
export interface PreparedRequest {
  /** Position in the execution that it belongs to. */
  readonly index: number;
  readonly request: InstanceRequest;
  /** In the session's order. */
  readonly inputs: readonly BytesTensor[];
  /** Content of the BYTES inputs by name. */
  readonly texts: ReadonlyMap<string, readonly string[]>;
  /** Equal for requests that fit into one batch. */
  readonly batchKey: string;
}

/**
 * Checks what the engine would answer for a whole batch, so that a bad request fails alone. Throws INVALID_ARG.
 */
export function prepareRequest(io: SessionIo, index: number, request: InstanceRequest): PreparedRequest {
  const given = new Map(request.inputs.map((tensor) => [tensor.name, tensor]));
  const texts = new Map<string, readonly string[]>();
  const inputs = io.inputs.map((expected) => {
    const own = given.get(expected.name);
    const tensor = findInput(io, expected, own ?? expected.fallback);
    given.delete(expected.name);
    if (tensor.datatype === "BYTES") texts.set(tensor.name, checkedTexts(tensor));
    return expected.isScalar ? { ...tensor, shape: [] } : tensor;
  });
  for (const name of given.keys()) {
    const allowed = io.inputs.map((input) => input.name).join(", ");
    throw invalid(`unexpected inference input '${name}', allowed inputs are: ${allowed}`);
  }
  for (const name of request.outputs) {
    if (io.outputs.some((output) => output.name === name)) continue;
    const allowed = io.outputs.map((output) => output.name).join(", ");
    throw invalid(`unexpected inference output '${name}', allowed outputs are: ${allowed}`);
  }
  const batchKey = inputs
    .map(({ name, shape }) => (io.batch.raggedInputs.has(name) ? "" : shape.slice(1).join()))
    .join(";");
  return { index, request, inputs, texts, batchKey };
}

function findInput(io: SessionIo, expected: SessionTensor, tensor: Tensor | undefined): BytesTensor {
  const { name, datatype } = expected;
  if (tensor === undefined) throw invalid(`inference input '${name}' is missing for model '${io.modelName}'`);
  if (tensor.kind === "device") {
    throw invalid(`inference input '${name}' lies on a device, which this instance cannot read`);
  }
  if (tensor.datatype !== datatype) {
    throw invalid(
      `inference input '${name}' data-type is '${tensor.datatype}', but model '${io.modelName}' expects '${datatype}'`,
    );
  }
  const byteSize = tensorByteSize(datatype, tensor.shape) ?? tensor.bytes.byteLength;
  if (byteSize === tensor.bytes.byteLength) return tensor;
  throw invalid(
    `unexpected total byte size ${tensor.bytes.byteLength} for inference input '${name}', expecting ${byteSize}`,
  );
}

function checkedTexts(tensor: BytesTensor): readonly string[] {
  const texts = decodeTexts(tensor);
  const expected = elementCount(tensor.shape);
  if (texts.length === expected) return texts;
  throw invalid(
    `unexpected number of string elements ${texts.length} for inference input '${tensor.name}', expecting ${expected}`,
  );
}

function invalid(message: string): InferenceError {
  return new InferenceError("INVALID_ARG", message);
}
