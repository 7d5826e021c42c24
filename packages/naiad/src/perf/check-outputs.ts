import type { BytesTensor, Tensor } from "@naiad/protocol";
import { decodeBytesElements, elementByteSize, InferenceError, widenedElements } from "@naiad/protocol";

/** Throws where an answer has other outputs than it must; others that it has are not looked at. */
export function checkOutputs(answered: readonly Tensor[], expected: readonly BytesTensor[]): void {
  for (const wanted of expected) {
    const given = answered.find(({ name }) => name === wanted.name);
    if (given?.kind !== "bytes") throw mismatch(`there is no output '${wanted.name}'`);
    if (given.bytes.length !== wanted.bytes.length) {
      throw mismatch(
        `output '${wanted.name}' has ${given.bytes.length} bytes, and must have ${wanted.bytes.length}`,
      );
    }
    if (given.bytes.every((byte, index) => byte === wanted.bytes[index])) continue;
    throw mismatch(`output '${wanted.name}' ${firstDifference(given, wanted)}`);
  }
}

/** Of two contents of the same length that differ. */
function firstDifference({ bytes: given, name }: BytesTensor, { bytes, datatype }: BytesTensor): string {
  if (datatype === "BYTES") {
    const [one, other] = [decodeBytesElements(given, name), decodeBytesElements(bytes, name)];
    const index = other.findIndex((element, at) => String(element) !== String(one[at]));
    const tell = (elements: readonly Uint8Array[]): string => new TextDecoder().decode(elements[index]);
    return `is ${tell(one)} at element ${index}, and must be ${tell(other)}`;
  }
  const size = elementByteSize(datatype);
  const index = Math.floor(bytes.findIndex((byte, at) => byte !== given[at]) / size);
  const elementIn = (content: Uint8Array): Uint8Array => content.subarray(index * size, (index + 1) * size);
  const textOf = (content: Uint8Array): string => String(widenedElements(datatype, elementIn(content))[0]);
  // Zeros of either sign, and numbers that are none, look the same.
  const isPlain = textOf(given) !== textOf(bytes);
  const tell = (content: Uint8Array): string =>
    isPlain ? textOf(content) : `${textOf(content)} (bytes ${elementIn(content).join(" ")})`;
  return `is ${tell(given)} at element ${index}, and must be ${tell(bytes)}`;
}

function mismatch(reason: string): InferenceError {
  return new InferenceError("INTERNAL", `Output doesn't match expected output: ${reason}`);
}
