import { bytesOf, type Datatype, encodeBytesElements, InferenceError } from "@naiad/protocol";
import type { InferTensorContents } from "./gen/grpc_service_pb.ts";

export interface TypedInput {
  readonly name: string;
  readonly modelName: string;
  readonly datatype: Datatype;
}

/**
 * The elements as the bytes of a tensor, in a buffer of its own. Integers keep their lowest bytes. Throws INVALID_ARG
 * where they stand in a field that is not that of the datatype, or in two; none at all are no bytes.
 */
export function readTypedContents(contents: InferTensorContents, input: TypedInput): Uint8Array {
  const { datatype, name, modelName } = input;
  let bytes: Uint8Array | undefined;
  for (const { field, encode } of FIELDS) {
    if (contents[field].length === 0) continue;
    const subject = `unexpected explicit tensor data for input tensor '${name}' for model '${modelName}'`;
    if (bytes !== undefined) {
      throw new InferenceError("INVALID_ARG", `${subject}, binary data was already supplied.`);
    }
    const encoded = encode(contents, datatype);
    if (encoded.kind === "other type") {
      throw new InferenceError(
        "INVALID_ARG",
        `${subject} of type '${encoded.type}', expected datatype '${datatype}'`,
      );
    }
    bytes = encoded.bytes;
  }
  return bytes ?? new Uint8Array(0);
}

type Encoded =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** What the elements are where it is not said otherwise. */
  | { readonly kind: "other type"; readonly type: Datatype };

interface Field {
  readonly field: Exclude<keyof InferTensorContents, `$${string}`>;
  readonly encode: (contents: InferTensorContents, datatype: Datatype) => Encoded;
}

const FIELDS: readonly Field[] = [
  {
    field: "boolContents",
    encode: (contents, datatype) =>
      as("BOOL", datatype, () => Uint8Array.from(contents.boolContents, Number)),
  },
  {
    field: "intContents",
    encode: ({ intContents }, datatype) => {
      if (datatype === "INT8") return encodedBytes(Int8Array.from(intContents));
      if (datatype === "INT16") return encodedBytes(Int16Array.from(intContents));
      return as("INT32", datatype, () => Int32Array.from(intContents));
    },
  },
  {
    field: "int64Contents",
    encode: (contents, datatype) => as("INT64", datatype, () => BigInt64Array.from(contents.int64Contents)),
  },
  {
    field: "uintContents",
    encode: ({ uintContents }, datatype) => {
      if (datatype === "UINT8") return encodedBytes(Uint8Array.from(uintContents));
      if (datatype === "UINT16") return encodedBytes(Uint16Array.from(uintContents));
      return as("UINT32", datatype, () => Uint32Array.from(uintContents));
    },
  },
  {
    field: "uint64Contents",
    encode: (contents, datatype) =>
      as("UINT64", datatype, () => BigUint64Array.from(contents.uint64Contents)),
  },
  {
    field: "fp32Contents",
    encode: (contents, datatype) => as("FP32", datatype, () => Float32Array.from(contents.fp32Contents)),
  },
  {
    field: "fp64Contents",
    encode: (contents, datatype) => as("FP64", datatype, () => Float64Array.from(contents.fp64Contents)),
  },
  {
    field: "bytesContents",
    encode: (contents, datatype) => as("BYTES", datatype, () => encodeBytesElements(contents.bytesContents)),
  },
];

function as(type: Datatype, datatype: Datatype, elements: () => ArrayBufferView): Encoded {
  return type === datatype ? encodedBytes(elements()) : { kind: "other type", type };
}

function encodedBytes(elements: ArrayBufferView): Encoded {
  return { kind: "bytes", bytes: bytesOf(elements) };
}
