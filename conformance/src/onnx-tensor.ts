import { fromBinary } from "@bufbuild/protobuf";
import type { TensorProto } from "onnx-buf";
import { TensorProtoSchema, TensorProto_DataType as ElementType } from "onnx-buf";
import type { V2Datatype, V2Tensor } from "./v2-tensor.ts";
import { bytesTensorContent } from "./v2-tensor.ts";

const DATATYPES: ReadonlyMap<number, V2Datatype> = new Map<number, V2Datatype>([
  [ElementType.BOOL, "BOOL"],
  [ElementType.UINT8, "UINT8"],
  [ElementType.UINT16, "UINT16"],
  [ElementType.UINT32, "UINT32"],
  [ElementType.UINT64, "UINT64"],
  [ElementType.INT8, "INT8"],
  [ElementType.INT16, "INT16"],
  [ElementType.INT32, "INT32"],
  [ElementType.INT64, "INT64"],
  [ElementType.FLOAT16, "FP16"],
  [ElementType.FLOAT, "FP32"],
  [ElementType.DOUBLE, "FP64"],
  [ElementType.STRING, "BYTES"],
]);

/** Reads a serialized `TensorProto`. `undefined` for element types that V2, or the engine behind it, has no word for. */
export function readOnnxTensor(serialized: Uint8Array): V2Tensor | undefined {
  const tensor = fromBinary(TensorProtoSchema, serialized);
  const datatype = DATATYPES.get(tensor.dataType);
  if (datatype === undefined) return undefined;
  return { name: tensor.name, datatype, shape: tensor.dims.map(Number), bytes: contentOf(tensor, datatype) };
}

function contentOf(tensor: TensorProto, datatype: V2Datatype): Uint8Array {
  if (datatype === "BYTES") return bytesTensorContent(tensor.stringData);
  if (tensor.rawData.byteLength > 0) return tensor.rawData;
  switch (datatype) {
    case "FP32":
      return bytesOf(Float32Array.from(tensor.floatData));
    case "FP64":
      return bytesOf(Float64Array.from(tensor.doubleData));
    case "INT64":
      return bytesOf(BigInt64Array.from(tensor.int64Data));
    case "UINT64":
      return bytesOf(BigUint64Array.from(tensor.uint64Data));
    case "UINT32":
      return bytesOf(Uint32Array.from(tensor.uint64Data, Number));
    case "INT32":
      return bytesOf(Int32Array.from(tensor.int32Data));
    case "INT16":
      return bytesOf(Int16Array.from(tensor.int32Data));
    case "UINT16":
    case "FP16":
      return bytesOf(Uint16Array.from(tensor.int32Data));
    case "INT8":
      return bytesOf(Int8Array.from(tensor.int32Data));
    case "UINT8":
    case "BOOL":
      return bytesOf(Uint8Array.from(tensor.int32Data));
  }
}

function bytesOf({ buffer }: { readonly buffer: ArrayBuffer }): Uint8Array {
  return new Uint8Array(buffer);
}
