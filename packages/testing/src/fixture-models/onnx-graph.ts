import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  AttributeProtoSchema,
  GraphProto,
  ModelProto,
  NodeProtoSchema,
  TensorProtoSchema,
  ValueInfoProtoSchema,
} from "onnx-buf";
import {
  AttributeProto_AttributeType as AttributeType,
  GraphProtoSchema,
  ModelProtoSchema,
  TensorProto_DataLocation as DataLocation,
  TensorProto_DataType as ElementType,
} from "onnx-buf";

/** A small vocabulary for writing ONNX graphs by hand. Equal calls give equal bytes. */

export { ElementType };
export type { GraphProto, ModelProto };

export type Value = MessageInitShape<typeof ValueInfoProtoSchema>;
export type Node = MessageInitShape<typeof NodeProtoSchema>;
export type Initializer = MessageInitShape<typeof TensorProtoSchema>;
export type Graph = MessageInitShape<typeof GraphProtoSchema>;
/** A tensor with its content in the model itself. */
export interface InlineTensor {
  readonly name: string;
  readonly dataType: ElementType;
  readonly dims: bigint[];
  readonly rawData: Uint8Array<ArrayBuffer>;
}
type Attribute = MessageInitShape<typeof AttributeProtoSchema>;

/** A number is a fixed dimension, a text a named dynamic one, `null` an unnamed dynamic one. */
export type Dimension = number | string | null;

export function value(name: string, elemType: ElementType, dims: readonly Dimension[]): Value {
  const shape = { dim: dims.map((dim) => ({ value: dimension(dim) })) };
  return { name, type: { value: { case: "tensorType", value: { elemType, shape } } } };
}

function dimension(
  dim: Dimension,
): { case: "dimValue"; value: bigint } | { case: "dimParam"; value: string } | { case: undefined } {
  if (dim === null) return { case: undefined };
  return typeof dim === "number"
    ? { case: "dimValue", value: BigInt(dim) }
    : { case: "dimParam", value: dim };
}

export function node(
  opType: string,
  input: readonly string[],
  output: readonly string[],
  attributes: readonly Attribute[] = [],
): Node {
  return {
    name: output[0] ?? opType,
    opType,
    input: [...input],
    output: [...output],
    attribute: [...attributes],
  };
}

export const attribute = {
  int: (name: string, i: number): Attribute => ({ name, type: AttributeType.INT, i: BigInt(i) }),
  ints: (name: string, ints: readonly number[]): Attribute => ({
    name,
    type: AttributeType.INTS,
    ints: ints.map(BigInt),
  }),
  graph: (name: string, g: Graph): Attribute => ({ name, type: AttributeType.GRAPH, g }),
};

export function floats(name: string, dims: readonly number[], values: readonly number[]): InlineTensor {
  return raw(name, ElementType.FLOAT, dims, new Float32Array(values));
}

export function bools(name: string, dims: readonly number[], values: readonly boolean[]): InlineTensor {
  return raw(name, ElementType.BOOL, dims, new Uint8Array(values.map(Number)));
}

export function integers(name: string, dims: readonly number[], values: readonly number[]): InlineTensor {
  return raw(name, ElementType.INT64, dims, BigInt64Array.from(values, BigInt));
}

function raw(
  name: string,
  dataType: ElementType,
  dims: readonly number[],
  data: Float32Array<ArrayBuffer> | BigInt64Array<ArrayBuffer> | Uint8Array<ArrayBuffer>,
): InlineTensor {
  return {
    name,
    dataType,
    dims: dims.map(BigInt),
    rawData: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
  };
}

/** The same tensor with its content in another file, which lies beside the model. */
export function external(tensor: InlineTensor, location: string, offset: number): Initializer {
  return {
    name: tensor.name,
    dataType: tensor.dataType,
    dims: tensor.dims,
    dataLocation: DataLocation.EXTERNAL,
    externalData: [
      { key: "location", value: location },
      { key: "offset", value: String(offset) },
      { key: "length", value: String(tensor.rawData.byteLength) },
    ],
  };
}

/** A whole model file. Opset 17 and IR version 8 are understood by every runtime of interest. */
export function onnxModel(graph: Graph): Uint8Array {
  const model = create(ModelProtoSchema, {
    irVersion: 8n,
    producerName: "naiad-fixtures",
    opsetImport: [{ domain: "", version: 17n }],
    graph,
  });
  return toBinary(ModelProtoSchema, model);
}

/** A model file of somebody else, to be changed. */
export function readModel(bytes: Uint8Array): ModelProto {
  return fromBinary(ModelProtoSchema, bytes);
}

/** The file of a model that has another graph from now on. */
export function withGraph(model: ModelProto, graph: Graph): Uint8Array {
  model.graph = create(GraphProtoSchema, graph);
  return toBinary(ModelProtoSchema, model);
}
