import { type Datatype, elementByteSize, isDatatype } from "./datatype.ts";
import { asString, asUnsigned, elementsOf, findMember, memberAsArray, requireMember } from "./json-access.ts";
import type { JsonNode, NumberArray } from "./json-node.ts";
import { checkJsonSize, readJsonData } from "./read-json-data.ts";
import { requestIdPrefix } from "./request-id.ts";
import { INT64_MAX, type RequestShape, requestShape } from "./request-shape.ts";
import { InferenceError } from "./status.ts";
import { type BytesTensor, elementCount, exactElementCount } from "./tensor.ts";

export interface InferInputSource {
  readonly modelName: string;
  readonly id: string;
  readonly body: Uint8Array;
  readonly headerLength: number;
  readonly maxInputSize: number;
}

/** The inputs in order; binary ones are views on the body, which they must use up exactly. */
export function readInferInputs(
  array: NumberArray | readonly JsonNode[],
  source: InferInputSource,
): readonly BytesTensor[] {
  const names = new Set<string>();
  let offset = source.headerLength;
  const tensors = elementsOf(array).map((node) => {
    checkSingleSource(node);
    const name = asString(requireMember(node, "name", "Unable to parse 'name'"), "Unable to parse 'name'");
    const datatype = readDatatype(node);
    const shape = readShape(node, name);
    if (names.has(name)) {
      throw invalid(`${requestIdPrefix(source.id)}input '${name}' already exists in request`);
    }
    names.add(name);

    const byteSize = binaryByteSize(node);
    if (byteSize !== undefined) {
      const bytes = takeBinary(name, offset, byteSize, source);
      offset += bytes.length;
      return { kind: "bytes", name, datatype: knownDatatype(datatype, name), ...shape, bytes } as const;
    }
    rejectSharedMemory(node);
    return readJsonInput(node, { name, datatype, shape, maxByteSize: source.maxInputSize });
  });
  if (offset !== source.body.length) {
    throw invalid(`unexpected additional input data for model '${source.modelName}'`);
  }
  return tensors;
}

function invalid(message: string): InferenceError {
  return new InferenceError("INVALID_ARG", message);
}

function checkSingleSource(node: JsonNode): void {
  const parameters = findMember(node, "parameters") ?? null;
  const sources = [
    findMember(node, "data") !== undefined ? " 'data'" : "",
    findMember(parameters, "binary_data_size") !== undefined ? " 'binary_data_size'" : "",
    findMember(parameters, "shared_memory_region") !== undefined ? " 'shared_memory_region'" : "",
  ].filter((source) => source !== "");
  if (sources.length === 1) return;
  throw invalid(
    "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', " +
      "'shared_memory_region' in 'parameters'. But " +
      (sources.length === 0 ? "no field is set" : `set${sources.join("")}`),
  );
}

function readDatatype(node: JsonNode): string {
  const context = "Unable to parse 'datatype'";
  return asString(requireMember(node, "datatype", context), context);
}

function knownDatatype(text: string, input: string): Datatype {
  if (isDatatype(text)) return text;
  throw invalid(`invalid datatype for input ${input}`);
}

function readShape(node: JsonNode, input: string): RequestShape {
  const context = "Unable to parse 'shape'";
  const dims = elementsOf(memberAsArray(node, "shape", context)).map((dim) => asUnsigned(dim, context));
  return requestShape(dims, input);
}

function binaryByteSize(node: JsonNode): number | bigint | undefined {
  const size = findMember(findMember(node, "parameters") ?? null, "binary_data_size");
  return size === undefined ? undefined : asUnsigned(size, "Unable to parse 'binary_data_size'");
}

function takeBinary(
  name: string,
  offset: number,
  byteSize: number | bigint,
  source: InferInputSource,
): Uint8Array {
  const { body, headerLength, modelName } = source;
  if (byteSize > 0 && headerLength === body.length) {
    throw invalid(
      "must specify valid 'Infer-Header-Content-Length' in request header and 'binary_data_size' when passing inputs in " +
        "binary data format",
    );
  }
  const missing = BigInt(byteSize) - BigInt(body.length - offset);
  if (missing > 0n) {
    throw invalid(
      `unexpected size for input '${name}', expecting ${String(missing)} additional bytes for model '${modelName}'`,
    );
  }
  return body.subarray(offset, offset + Number(byteSize));
}

/** There are no shared memory regions, so every name of one is unknown. */
export function rejectSharedMemory(node: JsonNode): void {
  const region = findMember(findMember(node, "parameters") ?? null, "shared_memory_region");
  if (region === undefined) return;
  const name = asString(region, "Unable to parse 'shared_memory_region'");
  throw new InferenceError("NOT_FOUND", `Unable to find shared memory region: '${name}'`);
}

interface JsonInput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: RequestShape;
  readonly maxByteSize: number;
}

function readJsonInput(node: JsonNode, input: JsonInput): BytesTensor {
  const { name, maxByteSize } = input;
  const { shape } = input.shape;
  // Triton counts no elements in a shape without dimensions: it has no scalars.
  const count = shape.length === 0 || shape.includes(0) ? 0 : elementCount(shape);
  const tensor = (datatype: Datatype, bytes: Uint8Array): BytesTensor => {
    return { kind: "bytes", name, datatype, ...input.shape, bytes };
  };
  if (count === 0) return tensor(knownDatatype(input.datatype, name), new Uint8Array(0));

  const data = memberAsArray(node, "data", "Unable to parse 'data'");
  const datatype = knownDatatype(input.datatype, name);
  if (datatype === "FP16" || datatype === "BF16") {
    throw invalid(
      `receiving ${datatype} data via JSON is not supported. Please use the binary data format for input ${name}`,
    );
  }
  if (count > Number.MAX_SAFE_INTEGER) checkVastSize(exactElementCount(input.shape), datatype, input);
  return tensor(datatype, readJsonData(data, { name, datatype, elementCount: count, maxByteSize }));
}

/** Of a tensor that cannot be: what Triton says of it. The number of texts is not held against the shape here. */
function checkVastSize(count: bigint, datatype: Datatype, input: JsonInput): void {
  const byteSize = count * BigInt(elementByteSize(datatype));
  if (byteSize > INT64_MAX) throw invalid(`byte size overflow for input '${input.name}'`);
  if (datatype !== "BYTES") checkJsonSize(input, byteSize);
}
