import type { Parameters } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { PerfInputData } from "./input-data.ts";
import type { LoadRange } from "./load-range.ts";
import { parseRange } from "./load-range.ts";
import type { ComposingModel } from "./perf-model.ts";
import type { Measurement, MeasurementRule, PerfLoad } from "./run-measurement.ts";

/** What is to be measured. Named as perf_analyzer's options, with the same defaults. */
export interface MeasureSettings {
  readonly modelName: string;
  readonly modelVersion?: string;
  /** `start[:end[:step]]` requests on their way. Default `1`. */
  readonly concurrencyRange?: string;
  /** `start[:end[:step]]` requests a second, in place of a concurrency. Latencies then count from when a request was due. */
  readonly requestRateRange?: string;
  readonly requestDistribution?: "constant" | "poisson";
  /** Microseconds from one request to the next, round and round, in place of a concurrency. Not all of them are 0. */
  readonly requestIntervals?: readonly number[];
  /** Look for the highest level under `latencyThreshold` in place of going through them. */
  readonly binarySearch?: boolean;
  readonly inputData?: "zero" | "random" | PerfInputData;
  /** Sizes for inputs of variable shape, without the batch dimension. */
  readonly shapes?: Readonly<Record<string, readonly number[]>>;
  /** Every element of inputs of strings. */
  readonly stringData?: string;
  /** Of random strings. Default 128. */
  readonly stringLength?: number;
  readonly batchSize?: number;
  /** Sent with every request: int64 is a `bigint`, double a `number`. */
  readonly requestParameters?: Parameters;
  /** Whether windows end by time or by number. Default `time_windows`. */
  readonly measurementMode?: "time_windows" | "count_windows";
  /** Milliseconds. Default 5000. */
  readonly measurementInterval?: number;
  /** Requests of a window in mode `count_windows`. Default 50. */
  readonly measurementRequestCount?: number;
  /** Requests of each measurement, in place of windows that must agree. */
  readonly requestCount?: number;
  readonly warmupRequestCount?: number;
  /** Percent. Default 10. */
  readonly stabilityPercentage?: number;
  readonly maxTrials?: number;
  /** Absent: latencies are judged by their mean. */
  readonly percentile?: number;
  /** Milliseconds; 0: none. */
  readonly latencyThreshold?: number;
  /** Open at a time in loads with a schedule. Default 4. */
  readonly numOfSequences?: number;
  readonly sequenceLength?: number;
  /** Percent. Default 20. */
  readonly sequenceLengthVariation?: number;
  /** `start[:end]`, the end excluded. Default `1`. */
  readonly sequenceIdRange?: string;
  /** `name[:version],...`: models that the measured one calls, whose statistics are told too. */
  readonly blsComposingModels?: string;
  /** Whether the report has the times of every request. */
  readonly keepMoments?: boolean;
}

/** The defaults of perf_analyzer. */
const DEFAULTS = {
  concurrency: "1",
  measurementIntervalMs: 5000,
  measurementRequestCount: 50,
  stabilityPercent: 10,
  maxTrials: 10,
  stringLength: 128,
  sequenceCount: 4,
  sequenceLengthVariation: 20,
  sequenceIds: "1",
} as const;

/** What of a measurement settings say. */
export type MeasurementPlan = Omit<
  Measurement,
  "target" | "clock" | "metrics" | "onModel" | "onWindow" | "onLevel" | "signal"
>;

type Name = keyof MeasureSettings;

/**
 * Throws INVALID_ARG for settings that make no sense.
 *
 * @param nameOf what a setting is called by whom it came from
 */
export function measurementPlan(settings: MeasureSettings, nameOf: (name: Name) => string): MeasurementPlan {
  const { inputData = "random", stringData } = settings;
  const count = countReader(settings, nameOf);
  const length = count("sequenceLength", undefined, 1);
  return {
    modelName: settings.modelName,
    modelVersion: settings.modelVersion ?? "",
    data: {
      data: typeof inputData === "string" ? { kind: inputData } : inputData,
      batchSize: count("batchSize", 1, 1),
      shapes: settings.shapes ?? {},
      stringLength: count("stringLength", DEFAULTS.stringLength, 0),
      ...(stringData !== undefined && { stringData }),
    },
    load: loadOf(settings, nameOf),
    rule: ruleOf(settings, nameOf),
    sequences: {
      count: count("numOfSequences", DEFAULTS.sequenceCount, 1),
      lengthVariation: count("sequenceLengthVariation", DEFAULTS.sequenceLengthVariation, 0),
      idRange: idRangeOf(settings.sequenceIdRange ?? DEFAULTS.sequenceIds, nameOf("sequenceIdRange")),
      ...(length !== undefined && { length }),
    },
    parameters: settings.requestParameters ?? {},
    composing: composingOf(settings.blsComposingModels ?? "", nameOf("blsComposingModels")),
    keepMoments: settings.keepMoments ?? false,
  };
}

type CountName = {
  [Key in Name]-?: Required<MeasureSettings>[Key] extends number ? Key : never;
}[Name];

type CountReader = <Otherwise extends number | undefined>(
  name: CountName,
  otherwise: Otherwise,
  least: number,
) => number | Otherwise;

/** Of whole numbers. */
function countReader(settings: MeasureSettings, nameOf: (name: Name) => string): CountReader {
  return (name, otherwise, least) => {
    const value = settings[name];
    if (value === undefined) return otherwise;
    if (Number.isSafeInteger(value) && value >= least) return value;
    throw invalid(`${nameOf(name)} must be a whole number, ${least} or more, but it is ${value}`);
  };
}

function loadOf(settings: MeasureSettings, nameOf: (name: Name) => string): PerfLoad {
  const { binarySearch = false, concurrencyRange, requestIntervals, requestRateRange } = settings;
  if (
    [concurrencyRange, requestRateRange, requestIntervals].filter((option) => option !== undefined).length > 1
  ) {
    const names = (["concurrencyRange", "requestRateRange", "requestIntervals"] as const).map(nameOf);
    throw invalid(`only one of ${names.slice(0, 2).join(", ")} and ${names.slice(2).join("")} can be given`);
  }
  if (requestIntervals !== undefined) {
    const isFine = requestIntervals.every((interval) => interval >= 0) && requestIntervals.some(Boolean);
    if (!isFine) throw invalid(`${nameOf("requestIntervals")} must be 0 or more, and above 0 together`);
    return { kind: "intervals", intervalsNs: requestIntervals.map((microseconds) => microseconds * 1e3) };
  }
  const search = binarySearch ? "binary" : "linear";
  const isRate = requestRateRange !== undefined;
  const name = nameOf(isRate ? "requestRateRange" : "concurrencyRange");
  const text = requestRateRange ?? concurrencyRange ?? DEFAULTS.concurrency;
  const range = parseRange(text, name);
  checkSearch(settings, range, nameOf);
  if (isRate) {
    return { kind: "request-rate", range, search, distribution: settings.requestDistribution ?? "constant" };
  }
  if (![range.start, range.end, range.step].every(Number.isInteger)) {
    throw invalid(`${name} must be of whole numbers, but it is '${text}'`);
  }
  return { kind: "concurrency", range, search };
}

function checkSearch(
  { binarySearch = false, latencyThreshold = 0 }: MeasureSettings,
  { end }: LoadRange,
  nameOf: (name: Name) => string,
): void {
  const what = binarySearch ? nameOf("binarySearch") : "a range without an end";
  if (latencyThreshold === 0 && (binarySearch || end === 0)) {
    throw invalid(`${what} needs ${nameOf("latencyThreshold")}`);
  }
  if (binarySearch && end === 0) throw invalid(`${what} needs a range with an end`);
}

function ruleOf(settings: MeasureSettings, nameOf: (name: Name) => string): MeasurementRule {
  const count = countReader(settings, nameOf);
  const { latencyThreshold = 0, percentile, stabilityPercentage = DEFAULTS.stabilityPercent } = settings;
  if (percentile !== undefined && !(Number.isInteger(percentile) && percentile >= 1 && percentile <= 100)) {
    throw invalid(`${nameOf("percentile")} must be from 1 to 100, but it is ${percentile}`);
  }
  if (!(stabilityPercentage >= 0)) throw invalid(`${nameOf("stabilityPercentage")} must be 0 or more`);
  if (!(latencyThreshold >= 0)) throw invalid(`${nameOf("latencyThreshold")} must be 0 or more`);
  return {
    window:
      settings.measurementMode === "count_windows"
        ? {
            kind: "count",
            requests: count("measurementRequestCount", DEFAULTS.measurementRequestCount, 1),
          }
        : {
            kind: "time",
            durationNs: count("measurementInterval", DEFAULTS.measurementIntervalMs, 1) * 1e6,
          },
    stabilityPercent: stabilityPercentage,
    maxTrials: count("maxTrials", DEFAULTS.maxTrials, 1),
    percentile,
    latencyLimitNs: latencyThreshold * 1e6,
    warmupRequests: count("warmupRequestCount", 0, 0),
    requestCount: count("requestCount", 0, 0),
  };
}

function idRangeOf(text: string, name: string): { readonly start: number; readonly end?: number } {
  const [, start, end] = /^(\d{1,15})(?::(\d{1,15}))?$/.exec(text) ?? [];
  if (start === undefined || Number(start) === 0 || (end !== undefined && Number(end) <= Number(start))) {
    throw invalid(`${name} must be START[:END], START above 0 and below END, but it is '${text}'`);
  }
  return { start: Number(start), ...(end !== undefined && { end: Number(end) }) };
}

function composingOf(text: string, option: string): readonly ComposingModel[] {
  const parts = text.split(",").filter((part) => part.trim() !== "");
  return parts.map((part) => {
    const [, name, version = ""] = /^\s*([^:\s]+)(?::(\d+))?\s*$/.exec(part) ?? [];
    if (name === undefined) throw invalid(`${option} must be NAME[:VERSION],..., but it has '${part}'`);
    return { name, version };
  });
}

function invalid(message: string): InferenceError {
  return new InferenceError("INVALID_ARG", message);
}
