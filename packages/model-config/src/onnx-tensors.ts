import { InferenceError } from "@naiad/protocol";
import { DataType } from "./gen/model_config_pb.ts";
import type { OnnxDimension, OnnxType, OnnxValue } from "./onnx-value.ts";

/** An input or output as ONNX Runtime reports it to Triton: unknown sizes are -1, an unknown rank is a scalar. */
export interface OnnxTensor {
  readonly name: string;
  readonly elementType: number;
  readonly dims: readonly number[];
}

interface ElementType {
  readonly name: string;
  readonly dataType: DataType;
}

/** By number in ONNX's `TensorProto.DataType`, with ONNX Runtime's names. */
const ELEMENT_TYPES: ReadonlyMap<number, ElementType> = new Map<number, ElementType>([
  [1, { name: "FLOAT", dataType: DataType.TYPE_FP32 }],
  [2, { name: "UINT8", dataType: DataType.TYPE_UINT8 }],
  [3, { name: "INT8", dataType: DataType.TYPE_INT8 }],
  [4, { name: "UINT16", dataType: DataType.TYPE_UINT16 }],
  [5, { name: "INT16", dataType: DataType.TYPE_INT16 }],
  [6, { name: "INT32", dataType: DataType.TYPE_INT32 }],
  [7, { name: "INT64", dataType: DataType.TYPE_INT64 }],
  [8, { name: "STRING", dataType: DataType.TYPE_STRING }],
  [9, { name: "BOOL", dataType: DataType.TYPE_BOOL }],
  [10, { name: "FLOAT16", dataType: DataType.TYPE_FP16 }],
  [11, { name: "DOUBLE", dataType: DataType.TYPE_FP64 }],
  [12, { name: "UINT32", dataType: DataType.TYPE_UINT32 }],
  [13, { name: "UINT64", dataType: DataType.TYPE_UINT64 }],
  [14, { name: "COMPLEX64", dataType: DataType.TYPE_INVALID }],
  [15, { name: "COMPLEX128", dataType: DataType.TYPE_INVALID }],
  [16, { name: "BFLOAT16", dataType: DataType.TYPE_BF16 }],
]);

/** A configuration's type for an ONNX element type; TYPE_INVALID for what Triton has no word for. */
export function onnxDataType(elementType: number): DataType {
  return ELEMENT_TYPES.get(elementType)?.dataType ?? DataType.TYPE_INVALID;
}

export function onnxElementTypeName(elementType: number): string {
  return ELEMENT_TYPES.get(elementType)?.name ?? "UNDEFINED";
}

const TYPE_NAMES: Readonly<Record<OnnxType["kind"], string>> = {
  tensor: "ONNX_TYPE_TENSOR",
  "sparse-tensor": "ONNX_TYPE_SPARSETENSOR",
  sequence: "ONNX_TYPE_SEQUENCE",
  map: "ONNX_TYPE_MAP",
  opaque: "ONNX_TYPE_OPAQUE",
  optional: "ONNX_TYPE_UNKNOWN",
  unknown: "ONNX_TYPE_UNKNOWN",
};

/** The value as a tensor; UNSUPPORTED with Triton's text for a sequence, a map and so on. */
export function onnxTensor({ name, type }: OnnxValue): OnnxTensor {
  if (type.kind === "tensor") {
    return { name, elementType: type.elementType, dims: (type.shape ?? []).map(dimensionSize) };
  }
  throw new InferenceError(
    "UNSUPPORTED",
    `Unsupported ONNX Type '${TYPE_NAMES[type.kind]}' for I/O '${name}', expected '${TYPE_NAMES.tensor}'.`,
  );
}

function dimensionSize(dimension: OnnxDimension): number {
  return typeof dimension === "number" ? dimension : -1;
}

/**
 * What to do with outputs that are no tensors (scikit-learn's list of maps). Triton refuses such a model; `omit` serves
 * the rest of it, if there is any.
 */
export type NonTensorOutputs = "refuse" | "omit";

/** Every output that is a tensor. UNSUPPORTED with Triton's text for the others, unless they are to be left out. */
export function outputTensors(
  outputs: readonly OnnxValue[],
  nonTensorOutputs: NonTensorOutputs,
): readonly OnnxTensor[] {
  const tensors = outputs.filter(({ type }) => type.kind === "tensor");
  return (nonTensorOutputs === "omit" && tensors.length > 0 ? tensors : outputs).map(onnxTensor);
}

/** Of those, with `omit`, only the ones of a type that a configuration has a word for, if there is any. */
export function usableOutputs(
  outputs: readonly OnnxValue[],
  nonTensorOutputs: NonTensorOutputs,
): readonly OnnxTensor[] {
  const tensors = outputTensors(outputs, nonTensorOutputs);
  if (nonTensorOutputs === "refuse") return tensors;
  const usable = tensors.filter(({ elementType }) => onnxDataType(elementType) !== DataType.TYPE_INVALID);
  return usable.length > 0 ? usable : tensors;
}
