import type { BytesTensor, Datatype, NestedValues, WidenedArrays } from "@naiad/protocol";
import {
  decodeBytesElements,
  decodeStringElements,
  tensorByteSize,
  tensorOf,
  widenedElements,
} from "@naiad/protocol";
import { ModelError } from "./model-error.ts";

/** What `data` is for each datatype: the 16-bit floats are widened, BOOL is 0 or 1 in a byte, BYTES are texts. */
export interface TensorArrays extends WidenedArrays {
  BYTES: readonly string[];
}

export type TensorData = TensorArrays[Datatype];

/** Content of a tensor as it travels, of a kind that no caller's value has. */
class WireContent {
  readonly tensor: BytesTensor;

  constructor(tensor: BytesTensor) {
    this.tensor = tensor;
  }
}

/**
 * A tensor as models see it. Shapes include the batch dimension where the model batches.
 */
export class Tensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** The content as it travels: row-major, little-endian, each element of BYTES behind its length. */
  readonly bytes: Uint8Array;
  #data: TensorData | undefined;
  #elements: readonly Uint8Array[] | undefined;

  /**
   * `data`: a typed array, or numbers, bigints, booleans, strings or `Uint8Array`s (one BYTES element each) in an array,
   * flat or nested. Without a shape: the nesting of `data`, or one dimension. Without a datatype it follows from the
   * typed array, or is BOOL for booleans, BYTES for strings and `Uint8Array`s, INT64 for bigints; plain numbers need it.
   * A `Float32Array` is also taken for FP16 (rounded) and BF16 (cut off), a `Uint8Array` for BOOL.
   */
  constructor(
    name: string,
    data: ArrayBufferView | NestedValues,
    shape?: readonly number[],
    datatype?: Datatype,
  );
  constructor(
    name: string,
    data: ArrayBufferView | NestedValues | WireContent,
    shape?: readonly number[],
    datatype?: Datatype,
  ) {
    const { tensor } =
      data instanceof WireContent
        ? data
        : {
            tensor: tensorOf(
              name,
              { data, ...(shape !== undefined && { shape }), ...(datatype !== undefined && { datatype }) },
              "tensor",
            ),
          };
    this.name = name;
    this.datatype = tensor.datatype;
    this.shape = tensor.shape;
    this.bytes = tensor.bytes;
  }

  /** A tensor of content as it travels, which is not copied. */
  static fromBytes(name: string, datatype: Datatype, shape: readonly number[], bytes: Uint8Array): Tensor {
    const expected = tensorByteSize(datatype, shape);
    if (expected !== undefined && expected !== bytes.length) {
      throw new ModelError(
        `got ${bytes.length} bytes for tensor '${name}', expected ${expected} for ${datatype} of shape [${shape.join(",")}]`,
        "INVALID_ARG",
      );
    }
    const content = new WireContent({ kind: "bytes", name, datatype, shape, bytes });
    return new Tensor(name, content as unknown as ArrayBufferView);
  }

  /**
   * Row-major. A view on the tensor's own memory, except of FP16 and BF16, which are widened into a `Float32Array`, and of
   * BYTES, which are texts: bytes that are no UTF-8 become U+FFFD there, and `elements` has them exactly.
   */
  get data(): TensorData {
    return (this.#data ??= this.#read());
  }

  /** `data` where the datatype is known. Throws INVALID_ARG where it is another. */
  as<Type extends Datatype>(datatype: Type): TensorArrays[Type] {
    if (this.datatype !== datatype) {
      throw new ModelError(`tensor '${this.name}' is ${this.datatype}, not ${datatype}`, "INVALID_ARG");
    }
    // The datatype decides the array's type, which the compiler cannot follow.
    return this.data as TensorArrays[Type];
  }

  /** The elements of a BYTES tensor, as views on its memory. Throws INVALID_ARG where the datatype is another. */
  get elements(): readonly Uint8Array[] {
    if (this.datatype !== "BYTES") {
      throw new ModelError(`tensor '${this.name}' is ${this.datatype}, not BYTES`, "INVALID_ARG");
    }
    return (this.#elements ??= decodeBytesElements(this.bytes, this.name));
  }

  #read(): TensorData {
    const { datatype, bytes, name } = this;
    return datatype === "BYTES" ? decodeStringElements(bytes, name) : widenedElements(datatype, bytes);
  }
}
