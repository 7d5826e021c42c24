import type { ModelConfig } from "@naiad/model-config";
import type { BytesTensor, Datatype, ElementArray } from "@naiad/protocol";
import {
  bytesOf,
  elementCount,
  encodeBytesElements,
  float32ToBf16,
  float32ToFp16,
  newElements,
} from "@naiad/protocol";
import type { InstanceRequest } from "../ports.ts";
import { executedInputs } from "./executed-inputs.ts";

/** A request that can be made up. */
export interface MadeUpRequest {
  /** Its shapes, for texts. */
  readonly label: string;
  /** Equal requests each time, with tensors of their own. */
  readonly make: () => InstanceRequest;
}

/**
 * What to make up for integers of 16 bits and more, which may be indices, sizes or flags: some are only valid when small,
 * some only when they are zero, some only when they are not.
 */
type Integers = "small" | "zero" | "one";
const INTEGERS: readonly Integers[] = ["small", "zero", "one"];

/** Sizes of dimensions that may have any, in the order in which they are tried: images want multiples of 32. */
const VARIABLE_SIZES: readonly number[] = [16, 32, 64, 5, 1, 224];

/** Beyond that a request would cost more time than the check is worth. */
const MAX_ELEMENTS = 2 ** 22;

/**
 * Requests to compare two devices with. Each entry is one shape, with alternatives of which the first that the model
 * accepts will do; two entries that work are enough. All dimensions that may have any size get the same one, since some
 * of them may have to be equal. Optional inputs are left out. Equal arguments give equal requests.
 */
export function verificationRequests(config: ModelConfig): readonly (readonly MadeUpRequest[])[] {
  const { maxBatchSize } = config;
  const inputs = executedInputs(config);
  const isVariable = inputs.some(({ shape }) => shape.includes(-1));
  const hasIntegers = inputs.some(({ datatype }) => WIDE_INTEGERS.has(datatype));
  const sizes = isVariable ? VARIABLE_SIZES : [1, 2];
  return sizes.flatMap((size, index) => {
    // One row first; the others run with several, where there can be.
    const rows = index === 0 ? 1 : 3;
    const batchSize = Math.min(rows, maxBatchSize);
    const shapes = inputs.map((input) => {
      const shape = input.shape.map((dim) => (dim === -1 ? size : dim));
      return maxBatchSize === 0 ? shape : [batchSize, ...shape];
    });
    if (shapes.some((shape) => elementCount(shape) > MAX_ELEMENTS)) return [];
    const alternatives = (hasIntegers ? INTEGERS : INTEGERS.slice(0, 1)).map((integers) => ({
      label: shapes
        .map((shape, position) => `${inputs[position]?.name ?? ""} [${shape.join(",")}]`)
        .join(", "),
      make: () => ({
        id: "",
        inputs: inputs.map(({ name, datatype }, position): BytesTensor => {
          const shape = shapes[position] ?? [];
          const random = randomNumbers(1 + index * inputs.length + position);
          const bytes = madeUp({ datatype, count: elementCount(shape), integers, random });
          return { kind: "bytes", name, datatype, shape, bytes };
        }),
        outputs: config.output.map(({ name }) => name),
        batchSize,
        parameters: {},
      }),
    }));
    return [alternatives];
  });
}

const WIDE_INTEGERS: ReadonlySet<Datatype> = new Set([
  "INT16",
  "UINT16",
  "INT32",
  "UINT32",
  "INT64",
  "UINT64",
]);

interface Wanted {
  readonly datatype: Datatype;
  readonly count: number;
  readonly integers: Integers;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Floats in [-1, 1), bytes and booleans of any value, other integers as wanted, texts that are numbers. */
function madeUp({ datatype, count, integers, random }: Wanted): Uint8Array {
  const below = (limit: number): number => Math.floor(random() * limit);
  switch (datatype) {
    case "BYTES":
      return encodeBytesElements(Array.from({ length: count }, () => String(below(10))));
    case "FP16":
      return bytesOf(float32ToFp16(filled(new Float32Array(count), () => 2 * random() - 1)));
    case "BF16":
      return bytesOf(float32ToBf16(filled(new Float32Array(count), () => 2 * random() - 1)));
    case "FP32":
    case "FP64":
      return bytesOf(filled(newElements(datatype, count), () => 2 * random() - 1));
    case "BOOL":
      return filled(new Uint8Array(count), () => below(2));
    case "INT8":
    case "UINT8":
      return filled(new Uint8Array(count), () => below(256));
    default:
      return bytesOf(
        filled(newElements(datatype, count), () =>
          integers === "small" ? below(8) : Number(integers === "one"),
        ),
      );
  }
}

function filled<Elements extends ElementArray>(elements: Elements, next: () => number): Elements {
  const isLarge = elements instanceof BigInt64Array || elements instanceof BigUint64Array;
  for (let index = 0; index < elements.length; index += 1) {
    elements[index] = isLarge ? BigInt(next()) : next();
  }
  return elements;
}

/** A stream of numbers in [0, 1) for each seed, the same everywhere (xorshift). */
function randomNumbers(seed: number): () => number {
  let state = Math.imul(seed, 0x9e3779b9) | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
