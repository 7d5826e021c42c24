import { type Datatype, elementByteSize, isDatatype } from "./datatype.ts";
import { isArrayNode } from "./json-access.ts";
import { type JsonNode, NumberArray } from "./json-node.ts";
import type { TensorMetadata } from "./messages.ts";
import { readJsonData } from "./read-json-data.ts";
import { InferenceError } from "./status.ts";
import type { BytesTensor } from "./tensor.ts";

export interface InputBudget {
  /** Bytes of the inputs before this one. */
  readonly consumed: number;
  readonly limit: number;
}

/**
 * A tensor from a scalar or a flat array. The shape follows from the model's: the fixed dimensions divide the number of
 * elements, the last variable one takes what remains, and other variable ones become 1.
 */
export function readGenerateInput(
  value: JsonNode,
  { name, datatype, shape }: TensorMetadata,
  budget: InputBudget,
): BytesTensor {
  if (!isDatatype(datatype)) throw invalid(`invalid datatype for input ${name}`);
  const data = isArrayNode(value) ? value : [value];
  const elementCount = data instanceof NumberArray ? data.content.values.length : data.length;
  const tensor = (dims: readonly number[], bytes: Uint8Array): BytesTensor => {
    return { kind: "bytes", name, datatype, shape: dims, bytes };
  };
  if (elementCount === 0) return tensor([], new Uint8Array(0));

  const target = { name, elementCount, maxByteSize: budget.limit };
  // The size of strings is known only when they have been read, that of everything else before.
  if (datatype === "BYTES") {
    const bytes = readJsonData(data, { ...target, datatype });
    checkBudget(name, bytes.length, budget);
    return tensor(fitShape(shape, elementCount, name), bytes);
  }
  checkBudget(name, elementCount * elementByteSize(datatype), budget);
  const dims = fitShape(shape, elementCount, name);
  return tensor(dims, readJsonData(data, { ...target, datatype: requireJson(datatype, name) }));
}

function fitShape(shape: readonly number[], elementCount: number, name: string): readonly number[] {
  const cannot = (): InferenceError =>
    invalid(`The schema can not convert input '${name}' to tensor with proper shape`);
  let rest = elementCount;
  for (const dim of shape.filter((dim) => dim !== -1)) {
    if (dim === 0 || rest % dim !== 0) throw cannot();
    rest /= dim;
  }
  const last = shape.lastIndexOf(-1);
  if (last === -1 && rest !== 1) throw cannot();
  return shape.map((dim, index) => (dim !== -1 ? dim : index === last ? rest : 1));
}

type JsonDatatype = Exclude<Datatype, "FP16" | "BF16">;

function requireJson(datatype: Datatype, name: string): JsonDatatype {
  if (datatype !== "FP16" && datatype !== "BF16") return datatype;
  throw invalid(
    `receiving ${datatype} data via JSON is not supported. Please use the binary data format for input ${name}`,
  );
}

function checkBudget(name: string, byteSize: number, { consumed, limit }: InputBudget): void {
  const total = consumed + byteSize;
  if (total <= limit) return;
  throw invalid(
    `request size of ${String(total)} bytes with input '${name}' of size ${String(byteSize)} bytes exceeds the maximum ` +
      `allowed input size of ${String(limit)}. Use --http-max-input-size to increase the limit.`,
  );
}

function invalid(message: string): InferenceError {
  return new InferenceError("INVALID_ARG", message);
}
