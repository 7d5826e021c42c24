import type { BytesTensor, JsonValue, NestedValues, Parameters } from "@naiad/protocol";
import {
  countBytesElements,
  elementCount,
  encodeBytesElements,
  InferenceError,
  madeUpElements,
  tensorByteSize,
  tensorOf,
} from "@naiad/protocol";
import type { DataEntry, EntryTensor, PerfInputData } from "./input-data.ts";
import type { PerfInput, PerfModel } from "./perf-model.ts";
import { seededRandom } from "./random.ts";

/** The content of requests, ready to be sent any number of times. */
export interface PerfDataSet {
  /** None of them is empty. */
  readonly streams: readonly (readonly PerfStep[])[];
}

export interface PerfStep {
  readonly inputs: readonly BytesTensor[];
  readonly parameters: Parameters;
}

export interface DataSetOptions {
  readonly data: PerfInputData;
  /** Rows of each request. */
  readonly batchSize: number;
  /** By name of the input, without the batch dimension. */
  readonly shapes: Readonly<Record<string, readonly number[]>>;
  /** Every element of inputs of strings, where it is given. */
  readonly stringData?: string;
  /** Of random strings. */
  readonly stringLength: number;
}

/** Throws INVALID_ARG where the model cannot be sent such requests. */
export function createDataSet(model: PerfModel, options: DataSetOptions): PerfDataSet {
  checkBatchSize(model, options.batchSize);
  checkNames(model, Object.keys(options.shapes), "a shape");
  const { data } = options;
  if (data.kind !== "entries") {
    const rows = model.inputs
      .filter(({ optional }) => !optional)
      .map((input) => madeUp(input, data.kind, options));
    return {
      streams: [
        [
          {
            inputs: batched(
              rows.map((row) => [row]),
              model,
              options,
            ),
            parameters: {},
          },
        ],
      ],
    };
  }
  return {
    streams: data.streams.map((entries, index) =>
      entries.map((_, step) => stepOf(entries, step, model, options, `data[${index}][${step}]`)),
    ),
  };
}

function checkBatchSize({ name, maxBatchSize }: PerfModel, batchSize: number): void {
  if (maxBatchSize === 0 && batchSize > 1) {
    throw invalid(`model '${name}' does not batch, so its requests cannot have a batch size of ${batchSize}`);
  }
  if (maxBatchSize > 0 && batchSize > maxBatchSize) {
    throw invalid(
      `the largest batch size of model '${name}' is ${maxBatchSize}, and ${batchSize} was asked for`,
    );
  }
}

function checkNames({ inputs, name }: PerfModel, given: readonly string[], what: string): void {
  const unknown = given.find((candidate) => !inputs.some((input) => input.name === candidate));
  if (unknown === undefined) return;
  const known = inputs.map((input) => `'${input.name}'`).join(", ");
  throw invalid(`there is ${what} for '${unknown}', but model '${name}' has ${known}`);
}

/** One row, without a batch dimension. */
function madeUp(input: PerfInput, kind: "zero" | "random", options: DataSetOptions): BytesTensor {
  const shape = options.shapes[input.name] ?? input.shape;
  if (shape.some((dim) => dim < 0)) {
    throw invalid(
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

/** The rows of a batch are consecutive entries, from this one on and round. */
function stepOf(
  entries: readonly DataEntry[],
  first: number,
  model: PerfModel,
  options: DataSetOptions,
  where: string,
): PerfStep {
  const chosen = Array.from(
    { length: options.batchSize },
    (_, row) => entries[(first + row) % entries.length],
  );
  const rows = chosen.filter((entry) => entry !== undefined);
  for (const { tensors } of rows) checkNames(model, Object.keys(tensors), `data in ${where}`);
  const inputs = model.inputs.flatMap((input) => {
    const given = rows.map(({ tensors }) => tensors[input.name]);
    if (input.optional && given.every((tensor) => tensor === undefined)) return [];
    return [
      given.map((tensor) => {
        if (tensor === undefined) throw invalid(`${where} has nothing for input '${input.name}'`);
        return rowOf(input, tensor, options, where);
      }),
    ];
  });
  return { inputs: batched(inputs, model, options), parameters: entries[first]?.parameters ?? {} };
}

function rowOf(
  input: PerfInput,
  { content, shape: own }: EntryTensor,
  { shapes }: DataSetOptions,
  where: string,
): BytesTensor {
  const { name, datatype } = input;
  const declared = own ?? shapes[name] ?? input.shape;
  if (content.kind === "values") {
    const flat = flatten(content.values);
    const shape = filledShape(declared, flat.length, `${where}.${name}`);
    // JSON's values are those that a tensor's can be, or the next line refuses them.
    return tensorOf(name, { data: flat as NestedValues, shape, datatype });
  }
  const raw = Uint8Array.from(atob(content.text), (character) => character.charCodeAt(0));
  const isOneString =
    datatype === "BYTES" && countBytesElements(raw) !== elementCount(declared.map(Math.abs));
  const bytes = isOneString ? encodeBytesElements([raw]) : raw;
  const count =
    datatype === "BYTES"
      ? (countBytesElements(bytes) ?? 0)
      : bytes.length / (tensorByteSize(datatype, []) ?? 1);
  return { kind: "bytes", name, datatype, shape: filledShape(declared, count, `${where}.${name}`), bytes };
}

/** One variable size follows from the number of elements. */
function filledShape(shape: readonly number[], count: number, where: string): readonly number[] {
  const known = elementCount(shape.filter((dim) => dim >= 0));
  const filled = shape.map((dim) => (dim < 0 ? count / known : dim));
  const isWhole = filled.every((dim) => Number.isInteger(dim));
  if (shape.filter((dim) => dim < 0).length > 1) {
    throw invalid(`${where} needs a 'shape': that of the model is [${shape.join(",")}]`);
  }
  if (isWhole && elementCount(filled) === count) return filled;
  throw invalid(`${where} has ${count} elements, which do not fit the shape [${shape.join(",")}]`);
}

function flatten(value: JsonValue): readonly JsonValue[] {
  if (!Array.isArray(value)) return [value];
  return (value as readonly JsonValue[]).flatMap(flatten);
}

/** `rows`: for each input, its row for every row of the batch, or one for all. */
function batched(
  rows: readonly (readonly BytesTensor[])[],
  { maxBatchSize }: PerfModel,
  { batchSize }: DataSetOptions,
): readonly BytesTensor[] {
  return rows.flatMap((tensors) => {
    const [first] = tensors;
    if (first === undefined) return [];
    const shape = first.shape.join(",");
    if (tensors.some((tensor) => tensor.shape.join(",") !== shape)) {
      throw invalid(
        `the rows of a batch must have one shape, and those of input '${first.name}' have several`,
      );
    }
    if (maxBatchSize === 0) return [first];
    const all = Array.from({ length: batchSize }, (_, row) => tensors[row] ?? first);
    return [{ ...first, shape: [batchSize, ...first.shape], bytes: joined(all.map(({ bytes }) => bytes)) }];
  });
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

function invalid(message: string): InferenceError {
  return new InferenceError("INVALID_ARG", message);
}
