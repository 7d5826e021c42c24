import type { BytesTensor, Parameters } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { directoryEntry } from "./directory-entry.ts";
import { entryRow } from "./entry-row.ts";
import type { DataEntry, PerfInputData } from "./input-data.ts";
import { madeUpRow } from "./made-up-row.ts";
import type { PerfModel, PerfTensor } from "./perf-model.ts";

/** The content of requests, ready to be sent any number of times. */
export interface PerfDataSet {
  /** None of them is empty. */
  readonly streams: readonly (readonly PerfStep[])[];
}

export interface PerfStep {
  readonly inputs: readonly BytesTensor[];
  /** Outputs that must be answered, where they are told. */
  readonly expected?: readonly BytesTensor[];
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
  checkNames(model, Object.keys(options.shapes), model.inputs, "a shape");
  const { data } = options;
  if (data.kind === "files") {
    const step = stepOf(
      rowsOf([directoryEntry(model, data.files)], 0, options),
      model,
      options,
      "the directory",
    );
    return { streams: [[step]] };
  }
  if (data.kind !== "entries") {
    const rows = model.inputs
      .filter(({ optional }) => !optional)
      .map((input) => madeUpRow(input, data.kind, options));
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
      entries.map((_, step) =>
        stepOf(rowsOf(entries, step, options), model, options, `data[${index}][${step}]`),
      ),
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

function checkNames(
  { name }: PerfModel,
  given: readonly string[],
  tensors: readonly PerfTensor[],
  what: string,
): void {
  const unknown = given.find((candidate) => !tensors.some((tensor) => tensor.name === candidate));
  if (unknown === undefined) return;
  const known = tensors.map((tensor) => `'${tensor.name}'`).join(", ");
  // perf_analyzer's words for when a request is due.
  const isSchedule = unknown === "delay" || unknown === "timestamp";
  const hint = isSchedule ? "; requests are not sent by a schedule in the data, see --request-intervals" : "";
  throw invalid(`there is ${what} for '${unknown}', but model '${name}' has ${known}${hint}`);
}

/** The rows of a batch are consecutive entries, from this one on and round. */
function rowsOf(
  entries: readonly DataEntry[],
  first: number,
  { batchSize }: DataSetOptions,
): readonly DataEntry[] {
  const rows = Array.from({ length: batchSize }, (_, row) => entries[(first + row) % entries.length]);
  return rows.filter((entry) => entry !== undefined);
}

function stepOf(
  rows: readonly DataEntry[],
  model: PerfModel,
  options: DataSetOptions,
  where: string,
): PerfStep {
  for (const { expected = {}, tensors } of rows) {
    checkNames(model, Object.keys(tensors), model.inputs, `data in ${where}`);
    checkNames(model, Object.keys(expected), model.outputs, `validation_data in ${where}`);
  }
  const inputs = model.inputs.flatMap((input) => {
    const given = rows.map(({ tensors }) => tensors[input.name]);
    if (input.optional && given.every((tensor) => tensor === undefined)) return [];
    return [
      given.map((tensor) => {
        if (tensor === undefined) throw invalid(`${where} has nothing for input '${input.name}'`);
        return entryRow(input, tensor, options.shapes, where);
      }),
    ];
  });
  const expected = expectedOf(rows, model, options, where);
  return {
    inputs: batched(inputs, model, options),
    ...(expected.length > 0 && { expected }),
    parameters: rows[0]?.parameters ?? {},
  };
}

/** Outputs of which every row of the batch tells what they must be. */
function expectedOf(
  rows: readonly DataEntry[],
  model: PerfModel,
  options: DataSetOptions,
  where: string,
): readonly BytesTensor[] {
  if (model.isDecoupled && rows.some(({ expected }) => expected !== undefined)) {
    throw invalid(
      `model '${model.name}' is decoupled: how many responses it gives is open, so that no validation_data can be compared`,
    );
  }
  const outputs = model.outputs.flatMap((output) => {
    const given = rows.flatMap(({ expected }) => expected?.[output.name] ?? []);
    return given.length < rows.length
      ? []
      : [given.map((tensor) => entryRow(output, tensor, {}, `validation_data of ${where}`))];
  });
  return batched(outputs, model, options);
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
