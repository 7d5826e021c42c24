import type { V2Datatype, V2Element, V2Tensor } from "./v2-tensor.ts";
import { bytesTensorContent, elementsOf } from "./v2-tensor.ts";

/**
 * The infer request and response of the V2 protocol over HTTP, written and read here without the code under test, as
 * another client would.
 */
export interface InferBody {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array<ArrayBuffer>;
}

const HEADER_LENGTH = "inference-header-content-length";
const encoder = new TextEncoder();

/** All inputs binary, all outputs asked for in binary. `parameters` are those of the request. */
export function binaryInferRequest(inputs: readonly V2Tensor[], parameters: object = {}): InferBody {
  const header = encoder.encode(
    JSON.stringify({
      inputs: inputs.map(({ name, datatype, shape, bytes }) => ({
        name,
        datatype,
        shape,
        parameters: { binary_data_size: bytes.byteLength },
      })),
      parameters: { ...parameters, binary_data_output: true },
    }),
  );
  const parts = [header, ...inputs.map(({ bytes }) => bytes)];
  const body = new Uint8Array(parts.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let offset = 0;
  for (const part of parts) {
    body.set(part, offset);
    offset += part.byteLength;
  }
  return { headers: [[HEADER_LENGTH, String(header.byteLength)]], body };
}

/** `undefined` where JSON cannot carry an input: FP16 has no JSON form in Triton. */
export function jsonInferRequest(inputs: readonly V2Tensor[]): InferBody | undefined {
  if (inputs.some(({ datatype }) => !hasJsonForm(datatype))) return undefined;
  const texts = inputs.map(({ name, datatype, shape, bytes }) => {
    const head = JSON.stringify({ name, datatype, shape });
    const data = elementsOf({ datatype, bytes }).map((element) => jsonText(element, datatype));
    return `${head.slice(0, -1)},"data":[${data.join()}]}`;
  });
  return { headers: [], body: encoder.encode(`{"inputs":[${texts.join()}]}`) };
}

export function hasJsonForm(datatype: V2Datatype): boolean {
  return datatype !== "FP16";
}

/** `NaN`, `Infinity` and 64-bit integers stand as they are, which is Triton's JSON. */
function jsonText(element: V2Element, datatype: V2Datatype): string {
  if (datatype === "BOOL") return element === 0 ? "false" : "true";
  return typeof element === "string" ? JSON.stringify(element) : String(element);
}

/** The outputs of a successful answer. Throws where it is no such answer. */
export function readInferResponse(answer: InferBody): readonly V2Tensor[] {
  const length = answer.headers.find(([name]) => name.toLowerCase() === HEADER_LENGTH)?.[1];
  const headerEnd = length === undefined ? answer.body.byteLength : Number(length);
  const { outputs } = parseTritonJson(new TextDecoder().decode(answer.body.subarray(0, headerEnd)));
  let offset = headerEnd;
  const tensors = outputs.map(({ name, datatype, shape, data, parameters }): V2Tensor => {
    const size = parameters?.binary_data_size;
    if (size === undefined) return { name, datatype, shape, bytes: packElements(datatype, data ?? []) };
    const bytes = answer.body.subarray(offset, offset + size);
    offset += size;
    return { name, datatype, shape, bytes };
  });
  if (offset !== answer.body.byteLength) throw new Error("the answer's body is longer than its outputs");
  return tensors;
}

interface JsonAnswer {
  readonly outputs: readonly {
    readonly name: string;
    readonly datatype: V2Datatype;
    readonly shape: readonly number[];
    readonly data?: readonly (number | boolean | string)[];
    readonly parameters?: { readonly binary_data_size?: number };
  }[];
}

/** What `JSON.parse` would refuse or round becomes a text that the packing below understands. Strings stay as they are. */
function parseTritonJson(text: string): JsonAnswer {
  const quoted = text.replace(
    /"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity)|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g,
    (token) => (token.startsWith('"') ? token : `"${token}"`),
  );
  return JSON.parse(quoted) as JsonAnswer;
}

function packElements(datatype: V2Datatype, data: readonly (number | boolean | string)[]): Uint8Array {
  const numbers = (): number[] => data.map(Number);
  switch (datatype) {
    case "BYTES":
      return bytesTensorContent(data.map((element) => encoder.encode(String(element))));
    case "BOOL":
    case "UINT8":
      return Uint8Array.from(numbers());
    case "INT8":
      return packed(Int8Array.from(numbers()));
    case "UINT16":
      return packed(Uint16Array.from(numbers()));
    case "INT16":
      return packed(Int16Array.from(numbers()));
    case "UINT32":
      return packed(Uint32Array.from(numbers()));
    case "INT32":
      return packed(Int32Array.from(numbers()));
    case "UINT64":
      return packed(BigUint64Array.from(data, BigInt));
    case "INT64":
      return packed(BigInt64Array.from(data, BigInt));
    case "FP32":
      return packed(Float32Array.from(numbers()));
    case "FP64":
      return packed(Float64Array.from(numbers()));
    case "FP16":
      throw new Error("FP16 has no JSON form, yet an answer has one");
  }
}

function packed({ buffer }: { readonly buffer: ArrayBuffer }): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer);
}
