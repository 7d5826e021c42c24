import type { BytesTensor } from "@naiad/protocol";
import { elementCount, encodeBytesElements, InferenceError, madeUpElements } from "@naiad/protocol";
import type { DataSetOptions } from "./data-set.ts";
import type { PerfInput } from "./perf-model.ts";
import { seededRandom } from "./random.ts";

/** One row of zeros or random data, without a batch dimension. INVALID_ARG where its shape is not known. */
export function madeUpRow(input: PerfInput, kind: "zero" | "random", options: DataSetOptions): BytesTensor {
  const shape = options.shapes[input.name] ?? input.shape;
  if (shape.some((dim) => dim < 0)) {
    throw new InferenceError(
      "INVALID_ARG",
      `input '${input.name}' has the variable shape [${shape.join(",")}], so it must be given: ` +
        `--shape ${input.name}:${shape.map((dim) => (dim < 0 ? "<size>" : String(dim))).join(",")}`,
    );
  }
  const count = elementCount(shape);
  const bytes =
    input.datatype === "BYTES" ? strings(count, kind, options) : madeUpElements(input.datatype, count, kind);
  return { kind: "bytes", name: input.name, datatype: input.datatype, shape, bytes };
}

const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

function strings(
  count: number,
  kind: "zero" | "random",
  { stringData, stringLength }: DataSetOptions,
): Uint8Array {
  const random = seededRandom(1);
  const letter = (): string => LETTERS[Math.floor(random() * LETTERS.length)] ?? "a";
  const element = (): string => {
    if (stringData !== undefined) return stringData;
    return kind === "zero" ? "" : Array.from({ length: stringLength }, letter).join("");
  };
  return encodeBytesElements(Array.from({ length: count }, element));
}
