import type { WireField, WireReader } from "./wire-reader.ts";
import { integerOf } from "./wire-reader.ts";

export interface OnnxValue {
  readonly name: string;
  readonly type: OnnxType;
}

export type OnnxType =
  | {
      readonly kind: "tensor";
      /** Number in `TensorProto.DataType`; see `onnxDataType`. */
      readonly elementType: number;
      /** `undefined`: the rank is not known. `[]`: a scalar. ONNX Runtime reports both alike. */
      readonly shape: readonly OnnxDimension[] | undefined;
    }
  | { readonly kind: "sparse-tensor" | "sequence" | "map" | "optional" | "opaque" | "unknown" };

/** A size, the name of a symbolic size, or `undefined` for an unnamed unknown one. */
export type OnnxDimension = number | string | undefined;

/** Field numbers of onnx.proto, by message. */
const FIELD = {
  value: { name: 1, type: 2 },
  type: { tensor: 1, sequence: 4, map: 5, opaque: 7, sparseTensor: 8, optional: 9 },
  tensorType: { elementType: 1, shape: 2 },
  shape: { dim: 1 },
  dim: { value: 1, parameter: 2 },
} as const;

const OTHER_KINDS: ReadonlyMap<number, Exclude<OnnxType["kind"], "tensor">> = new Map<
  number,
  Exclude<OnnxType["kind"], "tensor">
>([
  [FIELD.type.sequence, "sequence"],
  [FIELD.type.map, "map"],
  [FIELD.type.opaque, "opaque"],
  [FIELD.type.sparseTensor, "sparse-tensor"],
  [FIELD.type.optional, "optional"],
]);

/** Reads a `ValueInfoProto`. */
export async function readOnnxValue(reader: WireReader, field: WireField): Promise<OnnxValue> {
  let name = "";
  let type: OnnxType = { kind: "unknown" };
  await reader.forEachFieldIn(field, async (inner) => {
    if (inner.number === FIELD.value.name) name = await reader.text(inner);
    if (inner.number === FIELD.value.type) type = await readType(reader, inner);
  });
  return { name, type };
}

async function readType(reader: WireReader, field: WireField): Promise<OnnxType> {
  let type: OnnxType = { kind: "unknown" };
  await reader.forEachFieldIn(field, async (inner) => {
    const kind = OTHER_KINDS.get(inner.number);
    if (inner.number === FIELD.type.tensor) type = await readTensorType(reader, inner);
    else if (kind !== undefined) type = { kind };
  });
  return type;
}

async function readTensorType(reader: WireReader, field: WireField): Promise<OnnxType> {
  let elementType = 0;
  let shape: OnnxDimension[] | undefined;
  await reader.forEachFieldIn(field, async (inner) => {
    if (inner.number === FIELD.tensorType.elementType) elementType = integerOf(inner);
    if (inner.number === FIELD.tensorType.shape) shape = await readShape(reader, inner);
  });
  return { kind: "tensor", elementType, shape };
}

async function readShape(reader: WireReader, field: WireField): Promise<OnnxDimension[]> {
  const shape: OnnxDimension[] = [];
  await reader.forEachFieldIn(field, async (inner) => {
    if (inner.number === FIELD.shape.dim) shape.push(await readDimension(reader, inner));
  });
  return shape;
}

async function readDimension(reader: WireReader, field: WireField): Promise<OnnxDimension> {
  let dimension: OnnxDimension;
  await reader.forEachFieldIn(field, async (inner) => {
    if (inner.number === FIELD.dim.value) {
      const size = integerOf(inner);
      dimension = size < 0 ? undefined : size;
    }
    if (inner.number === FIELD.dim.parameter) {
      const name = await reader.text(inner);
      dimension = name === "" ? undefined : name;
    }
  });
  return dimension;
}
