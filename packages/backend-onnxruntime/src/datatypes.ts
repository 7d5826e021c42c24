import type { BytesTensor, Datatype, FixedDatatype } from "@naiad/protocol";
import {
  bytesOf,
  decodeBytesElements,
  encodeBytesElements,
  InferenceError,
  typedElements,
} from "@naiad/protocol";
import type { Tensor as OrtTensor } from "onnxruntime-web";
import type { Ort } from "./engine.ts";

export type SupportedDatatype = Exclude<Datatype, "BF16">;

const ORT_TYPES: Readonly<Record<SupportedDatatype, OrtTensor.Type>> = {
  BOOL: "bool",
  UINT8: "uint8",
  UINT16: "uint16",
  UINT32: "uint32",
  UINT64: "uint64",
  INT8: "int8",
  INT16: "int16",
  INT32: "int32",
  INT64: "int64",
  FP16: "float16",
  FP32: "float32",
  FP64: "float64",
  BYTES: "string",
};

/** The engine's types that WebGPU can hold. */
export type GpuType = OrtTensor.GpuBufferDataTypes;

/** As `ORT_TYPES`, where WebGPU can hold it. */
export function gpuType(datatype: SupportedDatatype): GpuType | undefined {
  switch (datatype) {
    case "BOOL":
    case "UINT8":
    case "UINT32":
    case "INT32":
    case "INT64":
    case "FP16":
    case "FP32":
      // The table's values are no narrower than its type says.
      return ORT_TYPES[datatype] as GpuType;
    default:
      return undefined;
  }
}

/** Whether the engine can take and give tensors of this datatype: all but BF16. */
export function isSupported(datatype: Datatype): datatype is SupportedDatatype {
  return datatype !== "BF16";
}

/** The datatype of an engine's type; `undefined` for those that Triton has no word for (int4, uint4). */
export function datatypeOf(ortType: string): SupportedDatatype | undefined {
  for (const [datatype, type] of Object.entries(ORT_TYPES)) {
    // The keys of the table are its own type.
    if (type === ortType) return datatype as SupportedDatatype;
  }
  return undefined;
}

/**
 * A tensor on the given memory, which is copied only where it is not aligned. FP16 goes in as plain 16-bit words, which
 * the engine takes whether or not the platform has Float16Array.
 */
export function numericTensor(
  ort: Ort,
  datatype: FixedDatatype & SupportedDatatype,
  shape: readonly number[],
  bytes: Uint8Array,
): OrtTensor {
  return new ort.Tensor(ORT_TYPES[datatype], typedElements(datatype, bytes), shape);
}

export function textTensor(ort: Ort, shape: readonly number[], texts: readonly string[]): OrtTensor {
  return new ort.Tensor("string", texts, shape);
}

/**
 * The elements of a BYTES tensor as texts. The engine holds strings as NUL-terminated UTF-8, so anything else would
 * arrive damaged: INVALID_ARG names the element instead. (It also drops a byte order mark from the longer strings that
 * it gives back; nothing can be done about that here.)
 */
export function decodeTexts({ name, bytes }: BytesTensor): string[] {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  return decodeBytesElements(bytes, name).map((element, index) => {
    if (element.includes(0)) throw badText(name, index, "contains a NUL byte, which would end it");
    try {
      return decoder.decode(element);
    } catch (cause) {
      throw badText(name, index, "is not valid UTF-8", cause);
    }
  });
}

function badText(name: string, index: number, fault: string, cause?: unknown): InferenceError {
  return new InferenceError(
    "INVALID_ARG",
    `element ${index} of inference input '${name}' ${fault}: ONNX Runtime passes strings on as NUL-terminated UTF-8`,
    { cause },
  );
}

/** The content of one of the engine's results in the protocol's layout; numbers are a view on the result's own memory. */
export function tensorBytes({ data }: OrtTensor): Uint8Array {
  return Array.isArray(data) ? encodeBytesElements(data) : bytesOf(data);
}
