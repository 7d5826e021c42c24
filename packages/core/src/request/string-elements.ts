import type { BytesTensor } from "@naiad/protocol";
import { InferenceError, elementCount, exactElementCount, requestIdPrefix } from "@naiad/protocol";

const LENGTH_BYTES = 4;

/**
 * Walks the elements of a BYTES tensor and throws INVALID_ARG unless they fill its bytes exactly and are as many as its
 * shape says. Costs one step per element and reads no string.
 */
export function checkStringElements(
  input: BytesTensor,
  { modelName, requestId }: { readonly modelName: string; readonly requestId: string },
): void {
  const { bytes } = input;
  const expectedCount = elementCount(input.shape);
  const prefix = requestIdPrefix(requestId);
  const where = `for inference input '${input.name}' for model '${modelName}'`;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

  let count = 0;
  let offset = 0;
  while (offset < bytes.byteLength) {
    const left = bytes.byteLength - offset;
    if (count === expectedCount) {
      throw invalid(
        `${prefix}unexpected number of string elements ${count + 1} ${where}, expecting ${expectedCount}`,
      );
    }
    if (left < LENGTH_BYTES) {
      throw invalid(
        `${prefix}incomplete string length indicator ${where}, expecting ${LENGTH_BYTES} bytes but only ${left} bytes ` +
          "available. Please make sure the string length indicator is in one buffer.",
      );
    }
    const length = view.getUint32(offset, true);
    if (length > left - LENGTH_BYTES) {
      throw invalid(
        `incomplete string data for inference input '${input.name}', expecting string of length ${length} ` +
          `but only ${left - LENGTH_BYTES} bytes available`,
      );
    }
    offset += LENGTH_BYTES + length;
    count += 1;
  }
  if (count !== expectedCount) {
    throw invalid(`${prefix}expected ${exactElementCount(input)} string elements ${where}, got ${count}`);
  }
}

function invalid(message: string): InferenceError {
  return new InferenceError("INVALID_ARG", message);
}
