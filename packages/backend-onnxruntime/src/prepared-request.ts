import type { InstanceRequest } from "@naiad/core";
import type { BytesTensor, DeviceTensor, Tensor } from "@naiad/protocol";
import { InferenceError, elementCount, tensorByteSize } from "@naiad/protocol";
import { decodeTexts } from "./datatypes.ts";
import type { PlacedInput } from "./device-inputs.ts";
import type { DeviceTensors, StoredTensor } from "./device-tensors.ts";
import type { SessionIo, SessionTensor } from "./session-io.ts";

export type PreparedInput = BytesTensor | PlacedInput;

/** A request whose every tensor the session will take. */
export interface PreparedRequest {
  /** Position in the execution that it belongs to. */
  readonly index: number;
  readonly request: InstanceRequest;
  /** In the session's order. */
  readonly inputs: readonly PreparedInput[];
  /** Content of the BYTES inputs by name. */
  readonly texts: ReadonlyMap<string, readonly string[]>;
  /** Equal for requests that fit into one batch. */
  readonly batchKey: string;
}

/**
 * Checks what the engine would answer for a whole batch, so that a bad request fails alone. Throws INVALID_ARG. `tensors`
 * are those that lie on the session's GPU.
 */
export function prepareRequest(
  io: SessionIo,
  index: number,
  request: InstanceRequest,
  tensors?: DeviceTensors,
): PreparedRequest {
  const given = new Map(request.inputs.map((tensor) => [tensor.name, tensor]));
  const texts = new Map<string, readonly string[]>();
  const inputs = io.inputs.map((expected) => {
    const own = given.get(expected.name);
    const tensor = placed(findInput(io, expected, own ?? expected.fallback), expected, tensors);
    given.delete(expected.name);
    if (tensor.kind === "bytes" && tensor.datatype === "BYTES") texts.set(tensor.name, checkedTexts(tensor));
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

function findInput(io: SessionIo, expected: SessionTensor, tensor: Tensor | undefined): Tensor {
  const { name, datatype } = expected;
  if (tensor === undefined) throw invalid(`inference input '${name}' is missing for model '${io.modelName}'`);
  if (tensor.datatype === datatype) return tensor;
  throw invalid(
    `inference input '${name}' data-type is '${tensor.datatype}', but model '${io.modelName}' expects '${datatype}'`,
  );
}

/** The tensor with its content, which must have the size that its shape says. */
function placed(
  tensor: Tensor,
  { name, datatype }: SessionTensor,
  tensors: DeviceTensors | undefined,
): PreparedInput {
  const input = tensor.kind === "bytes" ? tensor : { ...tensor, stored: storedTensor(tensor, tensors) };
  const actual = input.kind === "bytes" ? input.bytes.byteLength : input.stored.byteLength;
  const expected = tensorByteSize(datatype, tensor.shape) ?? actual;
  if (actual === expected) return input;
  throw invalid(`unexpected total byte size ${actual} for inference input '${name}', expecting ${expected}`);
}

function storedTensor({ name, handle }: DeviceTensor, tensors: DeviceTensors | undefined): StoredTensor {
  if (tensors === undefined) {
    throw invalid(`inference input '${name}' lies on a device, which this instance cannot read`);
  }
  try {
    return tensors.get(handle);
  } catch (thrown) {
    const { code, message } = InferenceError.from(thrown);
    throw new InferenceError(code, `inference input '${name}' lies on a device: ${message}`);
  }
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
