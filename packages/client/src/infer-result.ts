import type { FixedDatatype, InferenceResponse, Parameters, Tensor, WidenedArrays } from "@naiad/protocol";
import {
  InferenceError,
  decodeBytesElements,
  decodeStringElements,
  invariant,
  tensorByteSize,
  widenedElements,
} from "@naiad/protocol";

interface OutputHead {
  readonly name: string;
  readonly shape: readonly number[];
  /** The content as it travelled: row-major, little-endian. */
  readonly raw: Uint8Array;
}

export interface FixedOutput<Type extends FixedDatatype> extends OutputHead {
  readonly datatype: Type;
  /** Row-major. */
  readonly data: WidenedArrays[Type];
}

export interface BytesOutput extends OutputHead {
  readonly datatype: "BYTES";
  /** The elements as text. Bytes that are no UTF-8 become U+FFFD; `elements` has them exactly. */
  readonly data: readonly string[];
  readonly elements: readonly Uint8Array[];
}

/** The output of each datatype. */
export type OutputTypes = { readonly [Type in FixedDatatype]: FixedOutput<Type> } & {
  readonly BYTES: BytesOutput;
};

/** Told apart by `datatype`. */
export type InferOutput = OutputTypes[keyof OutputTypes];

export interface InferResult {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: Parameters;
  readonly outputs: Readonly<Record<string, InferOutput>>;
  /** Throws NOT_FOUND where the response has no such output, and INVALID_ARG where its datatype is another. */
  output(name: string): InferOutput;
  output<Type extends keyof OutputTypes>(name: string, datatype: Type): OutputTypes[Type];
}

/** Throws INTERNAL where an output's content does not fit its datatype and shape. */
export function inferResult(response: InferenceResponse): InferResult {
  const { modelName, modelVersion, id, parameters } = response;
  const outputs = new Map(response.outputs.map((tensor) => [tensor.name, outputOf(tensor)]));

  function output(name: string): InferOutput;
  function output<Type extends keyof OutputTypes>(name: string, datatype: Type): OutputTypes[Type];
  function output(name: string, datatype?: keyof OutputTypes): InferOutput {
    const found = outputs.get(name);
    if (found === undefined) {
      const names = [...outputs.keys()].map((known) => `'${known}'`).join(", ");
      throw new InferenceError("NOT_FOUND", `the response has no output '${name}'; it has ${names}`);
    }
    if (datatype === undefined || found.datatype === datatype) return found;
    throw new InferenceError("INVALID_ARG", `output '${name}' is ${found.datatype}, not ${datatype}`);
  }

  return { modelName, modelVersion, id, parameters, outputs: Object.fromEntries(outputs), output };
}

function outputOf(tensor: Tensor): InferOutput {
  invariant(tensor.kind === "bytes", `output '${tensor.name}' is still on a device`);
  const { name, datatype, shape, bytes } = tensor;
  if (datatype === "BYTES") return bytesOutput({ name, shape, raw: bytes });
  const expected = tensorByteSize(datatype, shape);
  if (expected !== bytes.length) {
    throw new InferenceError(
      "INTERNAL",
      `output '${name}' has ${String(bytes.length)} bytes, expected ${String(expected)} for ${datatype} of shape [${shape.join(",")}]`,
    );
  }
  // The datatype decides the array's type, which the compiler cannot follow through a union.
  return { name, datatype, shape, raw: bytes, data: widenedElements(datatype, bytes) } as InferOutput;
}

/** Splits and decodes when asked: an output that is an image is never decoded as text. */
function bytesOutput(head: OutputHead): BytesOutput {
  let texts: readonly string[] | undefined;
  let elements: readonly Uint8Array[] | undefined;
  return {
    ...head,
    datatype: "BYTES",
    get data() {
      return (texts ??= decodeStringElements(head.raw, head.name));
    },
    get elements() {
      return (elements ??= decodeBytesElements(head.raw, head.name));
    },
  };
}
