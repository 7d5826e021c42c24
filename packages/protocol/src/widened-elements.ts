import { type ElementArrays, type FixedDatatype, typedElements } from "./elements.ts";
import { bf16ToFloat32, fp16ToFloat32 } from "./half-float.ts";

/** What holds the elements of each fixed-size datatype for a user: the 16-bit floats are widened, BOOL is 0 or 1 in a byte. */
export interface WidenedArrays extends Omit<ElementArrays, "FP16" | "BF16"> {
  FP16: Float32Array;
  BF16: Float32Array;
}

/** As `typedElements`, with 16-bit floats in a fresh array of wider ones. */
export function widenedElements(datatype: FixedDatatype, bytes: Uint8Array): WidenedArrays[FixedDatatype] {
  switch (datatype) {
    case "FP16":
      return fp16ToFloat32(typedElements("FP16", bytes));
    case "BF16":
      return bf16ToFloat32(typedElements("BF16", bytes));
    default:
      return typedElements(datatype, bytes);
  }
}
