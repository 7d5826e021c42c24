import type { TraceLevel, TraceSettingsUpdate } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";

export interface TraceValues {
  /** Empty: off. */
  readonly level: readonly TraceLevel[];
  readonly rate: number;
  readonly count: number;
  readonly logFrequency: number;
}

/** `null` gives a value up, `undefined` does not occur. */
export type TraceUpdate = { readonly [Name in keyof TraceValues]?: TraceValues[Name] | null };

/** The update as values, or Triton's error for the first that is wrong. */
export function readTraceUpdate(update: TraceSettingsUpdate): TraceUpdate {
  const { trace_level, trace_rate, trace_count, log_frequency, trace_file } = update;
  if (trace_file !== undefined) {
    throw new InferenceError(
      "UNSUPPORTED",
      "trace file location can not be updated through network protocol",
    );
  }
  const level = trace_level === undefined || trace_level === null ? trace_level : readLevel(trace_level);
  const rate = ifGiven(trace_rate, (text) => readUint32("trace_rate", text));
  const count = ifGiven(trace_count, readCount);
  const logFrequency = ifGiven(log_frequency, (text) => readUint32("log_frequency", text));
  return {
    ...(level !== undefined && { level }),
    ...(rate !== undefined && { rate }),
    ...(count !== undefined && { count }),
    ...(logFrequency !== undefined && { logFrequency }),
  };
}

function ifGiven(text: string | null | undefined, read: (text: string) => number): number | null | undefined {
  return text === undefined || text === null ? text : read(text);
}

const LEVELS: readonly TraceLevel[] = ["TIMESTAMPS", "TENSORS"];

/** Unknown words say nothing; where none is known the level stays as it is. */
function readLevel(words: readonly string[]): readonly TraceLevel[] | undefined {
  if (words.includes("OFF")) {
    if (words.length === 1) return [];
    throw invalid("Expect only one trace level 'OFF' is specified");
  }
  const level = LEVELS.filter((word) => words.includes(word));
  return level.length === 0 ? undefined : level;
}

const MIN_COUNT = -1;
const INT32_MAX = 2 ** 31 - 1;

function readCount(text: string): number {
  const count = readInt32("trace_count", text, `[ ${String(MIN_COUNT)}, ${String(INT32_MAX)} ]`);
  if (count >= MIN_COUNT) return count;
  throw invalid(`Unable to parse 'trace_count'. Expecting value >= ${String(MIN_COUNT)}, got:${text}`);
}

/** Triton reads an int32, names the range of a uint32, and keeps a negative number as the uint32 with the same bits. */
function readUint32(name: string, text: string): number {
  return readInt32(name, text, `[ 0, ${String(2 ** 32 - 1)} ]`) >>> 0;
}

/** Like C++'s stoi: digits count up to the first other character. */
function readInt32(name: string, text: string, range: string): number {
  const digits = /^[ \t\n\v\f\r]*([+-]?[0-9]+)/.exec(text)?.[1];
  if (digits === undefined) throw invalid(`Unable to parse '${name}', got: ${text}`);
  const value = Number(digits);
  if (value >= -INT32_MAX - 1 && value <= INT32_MAX) return value;
  throw invalid(`Unable to parse '${name}', value is out of range ${range}, got: ${text}`);
}

function invalid(message: string): InferenceError {
  return new InferenceError("INVALID_ARG", message);
}
