import { countBytesElements } from "./elements.ts";
import { InferenceError } from "./status.ts";
import { type Tensor, elementCount, tensorByteSize } from "./tensor.ts";

/** Throws INTERNAL for an output whose bytes do not fit its shape: as JSON it would be nonsense. */
export function checkOutputSize(output: Tensor): void {
  if (output.kind === "device") return;
  const expected = tensorByteSize(output.datatype, output.shape);
  const fits =
    expected === undefined
      ? countBytesElements(output.bytes) === elementCount(output.shape)
      : output.bytes.length === expected;
  if (!fits) {
    throw new InferenceError(
      "INTERNAL",
      `output tensor shape does not match size of output for '${output.name}'`,
    );
  }
}
