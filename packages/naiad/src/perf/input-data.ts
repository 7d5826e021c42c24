import type { JsonObject, JsonValue, ParameterValue, Parameters } from "@naiad/protocol";
import { InferenceError, parseJson } from "@naiad/protocol";

/** Where the content of requests comes from. */
export type PerfInputData =
  | { readonly kind: "zero" }
  | { readonly kind: "random" }
  /** One stream for each sequence; a model without sequences is sent the entries of all, one after the other. */
  | { readonly kind: "entries"; readonly streams: readonly (readonly DataEntry[])[] };

/** The content of one request. */
export interface DataEntry {
  readonly tensors: Readonly<Record<string, EntryTensor>>;
  readonly parameters: Parameters;
}

export interface EntryTensor {
  /** Elements, flat or nested; or raw bytes in base64. */
  readonly content:
    | { readonly kind: "values"; readonly values: JsonValue }
    | { readonly kind: "base64"; readonly text: string };
  readonly shape?: readonly number[];
}

/** Keys of an entry that name no input. */
const OTHER_KEYS: ReadonlySet<string> = new Set(["parameters", "delay", "timestamp"]);

/** Reads the JSON that perf_analyzer's `--input-data` takes. INVALID_ARG where it has another form. */
export function parseInputData(text: string): PerfInputData {
  const data = objectOf(parseJson(text), "input data")["data"];
  if (!isArray(data) || data.length === 0) throw invalid("input data needs a list 'data' with an entry");
  const streams = isArray(data[0])
    ? data.map((stream, index) => {
        if (!isArray(stream) || stream.length === 0)
          throw invalid(`data[${index}] must be a list with an entry`);
        return stream.map((entry, step) => entryOf(entry, `data[${index}][${step}]`));
      })
    : [data.map((entry, index) => entryOf(entry, `data[${index}]`))];
  return { kind: "entries", streams };
}

function entryOf(value: JsonValue, where: string): DataEntry {
  const entry = objectOf(value, where);
  return {
    tensors: Object.fromEntries(
      Object.entries(entry)
        .filter(([name]) => !OTHER_KEYS.has(name))
        .map(([name, content]) => [name, tensorOf(content, `${where}.${name}`)]),
    ),
    parameters: parametersOf(entry["parameters"], `${where}.parameters`),
  };
}

function tensorOf(value: JsonValue, where: string): EntryTensor {
  if (isArray(value)) return { content: { kind: "values", values: value } };
  const { content, shape, b64 } = objectOf(value, where);
  const own = shape === undefined ? {} : { shape: shapeOf(shape, where) };
  if (typeof b64 === "string") return { content: { kind: "base64", text: b64 }, ...own };
  if (isArray(content)) return { content: { kind: "values", values: content }, ...own };
  throw invalid(`${where} needs 'content', a list, or 'b64'`);
}

function shapeOf(value: JsonValue, where: string): readonly number[] {
  if (isArray(value) && value.every((dim) => Number.isInteger(dim))) return value.map(Number);
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
  if (typeof value === "object" && value !== null && !isArray(value)) return value;
  throw invalid(`${where} must be an object`);
}

function isArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function invalid(message: string): InferenceError {
  return new InferenceError("INVALID_ARG", message);
}
