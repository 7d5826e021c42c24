import type { Datatype } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { DataType, DataTypeSchema } from "./gen/model_config_pb.ts";

const DATATYPES: ReadonlyMap<number, Datatype> = new Map<number, Datatype>([
  [DataType.TYPE_BOOL, "BOOL"],
  [DataType.TYPE_UINT8, "UINT8"],
  [DataType.TYPE_UINT16, "UINT16"],
  [DataType.TYPE_UINT32, "UINT32"],
  [DataType.TYPE_UINT64, "UINT64"],
  [DataType.TYPE_INT8, "INT8"],
  [DataType.TYPE_INT16, "INT16"],
  [DataType.TYPE_INT32, "INT32"],
  [DataType.TYPE_INT64, "INT64"],
  [DataType.TYPE_FP16, "FP16"],
  [DataType.TYPE_FP32, "FP32"],
  [DataType.TYPE_FP64, "FP64"],
  [DataType.TYPE_STRING, "BYTES"],
  [DataType.TYPE_BF16, "BF16"],
]);

/** The protocol's word for a configuration's element type; INVALID_ARG for TYPE_INVALID and unknown numbers. */
export function configDatatype(dataType: DataType): Datatype {
  const datatype = tryConfigDatatype(dataType);
  if (datatype !== undefined) return datatype;
  throw new InferenceError("INVALID_ARG", `unsupported data type ${dataTypeName(dataType)}`);
}

/** As `configDatatype`, with `undefined` for what has no word. */
export function tryConfigDatatype(dataType: DataType): Datatype | undefined {
  return DATATYPES.get(dataType);
}

/** `TYPE_FP32` and so on, as it stands in a configuration. */
export function dataTypeName(dataType: DataType): string {
  return DataTypeSchema.value[dataType]?.name ?? String(dataType);
}
