import type { JsonObject, JsonValue, ParameterValue, Parameters } from "@naiad/protocol";
import { InferenceError, isJsonArray, isJsonObject, parseJson } from "@naiad/protocol";

/** Where the content of requests comes from. */
export type PerfInputData =
  | { readonly kind: "zero" }
  | { readonly kind: "random" }
  /** One request. Content by name of the tensor, in base64: raw bytes, or text with a string in each line; outputs too. */
  | { readonly kind: "files"; readonly files: Readonly<Record<string, string>> }
  /** One stream for each sequence; a model without sequences is sent the entries of all, one after the other. */
  | { readonly kind: "entries"; readonly streams: readonly (readonly DataEntry[])[] };

/** The content of one request. */
export interface DataEntry {
  readonly tensors: Readonly<Record<string, EntryTensor>>;
  /** What its outputs must be, where that is told. */
  readonly expected?: Readonly<Record<string, EntryTensor>>;
  readonly parameters: Parameters;
}

export interface EntryTensor {
  /** Elements, flat or nested; or raw bytes in base64. */
  readonly content:
    | { readonly kind: "values"; readonly values: JsonValue }
    | { readonly kind: "base64"; readonly text: string };
  readonly shape?: readonly number[];
}

/** Reads the JSON that perf_analyzer's `--input-data` takes. INVALID_ARG where it has another form. */
export function parseInputData(text: string): PerfInputData {
  const root = objectOf(parseJson(text), "input data");
  const streams = streamsOf(root["data"], "data");
  if (streams === undefined) throw invalid("input data needs a list 'data' with an entry");
  const validation = root["validation_data"];
  const expected = validation === undefined ? undefined : streamsOf(validation, "validation_data");
  if (validation !== undefined) checkAligned(streams, expected);
  return {
    kind: "entries",
    streams: streams.map((stream, index) =>
      stream.map((entry, step) => {
        const { tensors } = expected?.[index]?.[step] ?? {};
        return tensors === undefined ? entry : { ...entry, expected: tensors };
      }),
    ),
  };
}

/** The streams of several files, one after the other; of a single one where none has more. */
export function joinInputData(parts: readonly PerfInputData[]): PerfInputData {
  const [first] = parts;
  if (first === undefined || parts.length === 1) return first ?? { kind: "random" };
  const streams = parts.flatMap((part) => {
    if (part.kind !== "entries") throw invalid(`'${part.kind}' is no input data that others can be added to`);
    return part.streams;
  });
  return { kind: "entries", streams };
}

function streamsOf(data: JsonValue | undefined, name: string): readonly (readonly DataEntry[])[] | undefined {
  if (!isJsonArray(data) || data.length === 0) return undefined;
  if (!isJsonArray(data[0])) return [data.map((entry, index) => entryOf(entry, `${name}[${index}]`))];
  return data.map((stream, index) => {
    if (!isJsonArray(stream) || stream.length === 0)
      throw invalid(`${name}[${index}] must be a list with an entry`);
    return stream.map((entry, step) => entryOf(entry, `${name}[${index}][${step}]`));
  });
}

function checkAligned(
  streams: readonly (readonly DataEntry[])[],
  expected: readonly (readonly DataEntry[])[] | undefined,
): void {
  const lengths = (of: readonly (readonly DataEntry[])[] = []): string =>
    of.map(({ length }) => length).join(",");
  if (lengths(streams) !== lengths(expected)) {
    throw invalid("'validation_data' must have an entry for each entry of 'data'");
  }
}

function entryOf(value: JsonValue, where: string): DataEntry {
  const entry = objectOf(value, where);
  return {
    tensors: Object.fromEntries(
      Object.entries(entry)
        .filter(([name]) => name !== "parameters")
        .map(([name, content]) => [name, tensorOf(content, `${where}.${name}`)]),
    ),
    parameters: parametersOf(entry["parameters"], `${where}.parameters`),
  };
}

function tensorOf(value: JsonValue, where: string): EntryTensor {
  if (isJsonArray(value)) return { content: { kind: "values", values: value } };
  const { content, shape, b64 } = objectOf(value, where);
  const own = shape === undefined ? {} : { shape: shapeOf(shape, where) };
  const inner = isJsonObject(content) ? content["b64"] : undefined;
  const base64 = inner ?? b64;
  if (typeof base64 === "string") return { content: { kind: "base64", text: base64 }, ...own };
  if (isJsonArray(content)) return { content: { kind: "values", values: content }, ...own };
  throw invalid(`${where} needs 'content', a list, or 'b64'`);
}

function shapeOf(value: JsonValue, where: string): readonly number[] {
  if (isJsonArray(value) && value.every((dim) => Number.isInteger(dim))) return value.map(Number);
  throw invalid(`the shape of ${where} must be a list of integers`);
}

function parametersOf(value: JsonValue | undefined, where: string): Parameters {
  if (value === undefined) return {};
  const entries = Object.entries(objectOf(value, where)).map(([name, parameter]) => {
    if (!["string", "boolean", "number", "bigint"].includes(typeof parameter)) {
      throw invalid(`${where}.${name} must be a string, a number or a boolean`);
    }
    const isInteger = typeof parameter === "number" && Number.isInteger(parameter);
    return [name, (isInteger ? BigInt(parameter) : parameter) as ParameterValue] as const;
  });
  return Object.fromEntries(entries);
}

function objectOf(value: JsonValue, where: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw invalid(`${where} must be an object`);
}

function invalid(message: string): InferenceError {
  return new InferenceError("INVALID_ARG", message);
}
