import { ByteWriter } from "./byte-writer.ts";
import { formatDouble, quoteJson } from "./json.ts";
import type { ParameterValue } from "./messages.ts";
import { invariant } from "./status.ts";
import type { BytesTensor, Tensor } from "./tensor.ts";
import type { TensorTransfer } from "./tensor-transfers.ts";
import { writeJsonData } from "./write-json-data.ts";

/** An infer body: JSON, and after it the binary tensors in their order. */
export interface InferMessage {
  readonly body: Uint8Array<ArrayBuffer>;
  /** Bytes of the JSON. */
  readonly headerLength: number;
  /** Bytes of the tensors after it. */
  readonly binaryLength: number;
}

/** Writes the JSON of an infer body and puts the binary tensors behind it. */
export class InferMessageWriter {
  readonly #json = new ByteWriter(1024);
  readonly #blobs: Uint8Array[] = [];

  text(text: string): void {
    this.#json.text(text);
  }

  /** `"name":..,"datatype":..,"shape":..` and the content or its size, as one object. */
  tensor(tensor: Tensor, transfer: TensorTransfer): void {
    invariant(tensor.kind === "bytes", `tensor '${tensor.name}' is still on a device`);
    const shape = tensor.shape.join(",");
    this.text(`{"name":${quoteJson(tensor.name)},"datatype":"${tensor.datatype}","shape":[${shape}],`);
    if (transfer === "binary") this.#binary(tensor);
    else this.#inline(tensor);
    this.text("}");
  }

  #binary(tensor: BytesTensor): void {
    this.text(`"parameters":{"binary_data_size":${String(tensor.bytes.length)}}`);
    this.#blobs.push(tensor.bytes);
  }

  #inline(tensor: BytesTensor): void {
    this.text('"data":');
    writeJsonData(this.#json, tensor);
  }

  /** The body in a buffer of its own, exactly as long as it. */
  finish(): InferMessage {
    const json = this.#json.view();
    let binaryLength = 0;
    for (const blob of this.#blobs) binaryLength += blob.length;
    const body = new Uint8Array(json.length + binaryLength);
    body.set(json);
    let offset = json.length;
    for (const blob of this.#blobs) {
      body.set(blob, offset);
      offset += blob.length;
    }
    return { body, headerLength: json.length, binaryLength };
  }
}

/** `"name":value,"name":value`; a bigint is written as an integer, a number as a double. */
export function parameterMembers(parameters: Iterable<readonly [string, ParameterValue]>): string {
  return Array.from(parameters, ([name, value]) => `${quoteJson(name)}:${parameterText(value)}`).join(",");
}

/** The JSON of one parameter. */
export function parameterText(value: ParameterValue): string {
  if (typeof value === "string") return quoteJson(value);
  return typeof value === "number" ? formatDouble(value) : String(value);
}
