import { readFile } from "node:fs/promises";
import type { ParameterValue } from "@naiad/protocol";
import type { LoadRange } from "../../perf/load-range.ts";
import { parseRange } from "../../perf/load-range.ts";
import { PERF_DEFAULTS } from "../../perf/measure.ts";
import type { Measurement, MeasurementRule, PerfLoad } from "../../perf/run-measurement.ts";
import { UsageError } from "../command-io.ts";
import { parseCommandLine } from "../parse-command-line.ts";
import { asUsage, inputDataOption, serverUrl, shapeOptions } from "../server-options.ts";
import { ABSENT_OPTIONS, PERF_OPTIONS } from "./perf-flags.ts";

export interface PerfCommand {
  readonly transport: "http" | "grpc";
  readonly streaming: boolean;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tensorFormats: { readonly inputs: "binary" | "json"; readonly outputs: "binary" | "json" };
  readonly measurement: Pick<
    Measurement,
    "modelName" | "modelVersion" | "data" | "load" | "rule" | "sequences" | "parameters" | "keepMoments"
  >;
  readonly csvFile: string | undefined;
  readonly verboseCsv: boolean;
  readonly profileFile: string | undefined;
  readonly verbose: boolean;
  readonly json: boolean;
}

/** Throws a `UsageError` for what makes no sense; rejects where a file cannot be read. */
export async function readPerfOptions(argv: readonly string[]): Promise<PerfCommand | "help"> {
  const { positionals, values } = parseCommandLine(argv, PERF_OPTIONS);
  if (values.help === true) return "help";
  const [extra] = positionals;
  if (extra !== undefined) throw new UsageError(`'${extra}' is no option; the model is named with -m`);
  for (const [name, reason] of Object.entries(ABSENT_OPTIONS)) {
    const value = values[name as keyof typeof ABSENT_OPTIONS];
    if (value !== undefined && value !== "none") throw new UsageError(`--${name}: ${reason}`);
  }
  const modelName = values["model-name"];
  if (modelName === undefined) throw new UsageError("the model is missing: -m NAME");
  const streaming = values.streaming === true;
  const transport = transportOf(values.transport ?? values.protocol ?? "http", streaming);
  oneOf("service-kind", values["service-kind"], ["triton"]);
  const count = (name: CountName, otherwise: number): number => wholeNumber(name, values[name]) ?? otherwise;
  const length = wholeNumber("sequence-length", values["sequence-length"]);
  const stringData = values["string-data"];
  return {
    transport,
    streaming,
    url: serverUrl(values.url ?? (transport === "grpc" ? "localhost:8001" : "localhost:8000")),
    headers: headersOf(values.header ?? []),
    tensorFormats: {
      inputs: oneOf("input-tensor-format", values["input-tensor-format"], ["binary", "json"]) ?? "binary",
      outputs: oneOf("output-tensor-format", values["output-tensor-format"], ["binary", "json"]) ?? "binary",
    },
    measurement: {
      modelName,
      modelVersion: values["model-version"] ?? "",
      data: {
        data: await inputDataOption(values["input-data"] ?? "random"),
        batchSize: Math.max(count("batch-size", 1), 1),
        shapes: shapeOptions(values.shape ?? []),
        stringLength: count("string-length", PERF_DEFAULTS.stringLength),
        ...(stringData !== undefined && { stringData }),
      },
      load: await loadOf(values),
      rule: ruleOf(values),
      sequences: {
        count: Math.max(count("num-of-sequences", PERF_DEFAULTS.sequenceCount), 1),
        lengthVariation: count("sequence-length-variation", PERF_DEFAULTS.sequenceLengthVariation),
        idRange: idRangeOf(values["sequence-id-range"] ?? "1"),
        ...(length !== undefined && { length: Math.max(length, 1) }),
      },
      parameters: Object.fromEntries((values["request-parameter"] ?? []).map(parameterOf)),
      keepMoments: values["profile-export-file"] !== undefined,
    },
    csvFile: values["latency-report-file"],
    verboseCsv: values["verbose-csv"] === true,
    profileFile: values["profile-export-file"],
    verbose: values.verbose === true,
    json: values.json === true,
  };
}

type Values = ReturnType<typeof parseCommandLine<typeof PERF_OPTIONS>>["values"];
type CountName =
  | "batch-size"
  | "string-length"
  | "num-of-sequences"
  | "sequence-length"
  | "sequence-length-variation"
  | "measurement-interval"
  | "measurement-request-count"
  | "max-trials"
  | "request-count"
  | "warmup-request-count"
  | "latency-threshold"
  | "percentile";

function transportOf(text: string, isStreaming: boolean): "http" | "grpc" {
  if (text === "port" || text === "fetch") {
    throw new UsageError(`--transport ${text} is measured in a page, by measure() of 'naiad/perf'`);
  }
  const transport = oneOf("transport", text, ["http", "grpc"]) ?? "http";
  if (isStreaming && transport === "http") {
    throw new UsageError("--streaming: Triton's HTTP API has no streaming inference, so it needs -i grpc");
  }
  return transport;
}

function headersOf(texts: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map((text) => {
      const [, name, value = ""] = /^([^:\s]+):\s*(.*)$/.exec(text) ?? [];
      if (name === undefined) throw new UsageError(`-H must be NAME:VALUE, but it is '${text}'`);
      return [name, value];
    }),
  );
}

async function loadOf(values: Values): Promise<PerfLoad> {
  const concurrency = values["concurrency-range"];
  const rate = values["request-rate-range"];
  const intervals = values["request-intervals"];
  if ([concurrency, rate, intervals].filter((option) => option !== undefined).length > 1) {
    throw new UsageError(
      "only one of --concurrency-range, --request-rate-range and --request-intervals can be given",
    );
  }
  if (intervals !== undefined) return { kind: "intervals", intervalsNs: await intervalsIn(intervals) };
  const search = values["binary-search"] === true ? "binary" : "linear";
  const range =
    rate === undefined
      ? rangeOf(concurrency ?? PERF_DEFAULTS.concurrency, "--concurrency-range")
      : rangeOf(rate, "--request-rate-range");
  const hasLimit = (wholeNumber("latency-threshold", values["latency-threshold"]) ?? 0) > 0;
  if (!hasLimit && (search === "binary" || range.end === 0)) {
    throw new UsageError(
      `${search === "binary" ? "--binary-search" : "a range without an end"} needs --latency-threshold`,
    );
  }
  if (rate === undefined) {
    if (![range.start, range.end, range.step].every(Number.isInteger)) {
      throw new UsageError(`--concurrency-range must be of whole numbers, but it is '${concurrency ?? ""}'`);
    }
    return { kind: "concurrency", range, search };
  }
  const distribution = oneOf("request-distribution", values["request-distribution"], ["constant", "poisson"]);
  return { kind: "request-rate", range, search, distribution: distribution ?? "constant" };
}

function rangeOf(text: string, name: string): LoadRange {
  return asUsage(() => parseRange(text, name));
}

async function intervalsIn(path: string): Promise<readonly number[]> {
  const text = await readFile(path, "utf8");
  const numbers = text
    .split(/\s+/)
    .filter((word) => word !== "")
    .map(Number);
  if (numbers.length === 0 || numbers.some((number) => !(number >= 0))) {
    throw new UsageError(`--request-intervals '${path}' must hold microseconds, one number a line`);
  }
  return numbers.map((microseconds) => microseconds * 1e3);
}

function ruleOf(values: Values): MeasurementRule {
  const count = (name: CountName): number | undefined => wholeNumber(name, values[name]);
  const mode = oneOf("measurement-mode", values["measurement-mode"], ["time_windows", "count_windows"]);
  const percentile = values.percentile === "-1" ? undefined : count("percentile");
  if (percentile !== undefined && (percentile < 1 || percentile > 100)) {
    throw new UsageError(`--percentile must be from 1 to 100, or -1 for the mean, but it is ${percentile}`);
  }
  const intervalMs = count("measurement-interval") ?? PERF_DEFAULTS.measurementIntervalMs;
  if (intervalMs === 0) throw new UsageError("--measurement-interval must be above 0");
  const stability = values["stability-percentage"];
  const stabilityPercent = stability === undefined ? PERF_DEFAULTS.stabilityPercent : Number(stability);
  if (!(stabilityPercent >= 0))
    throw new UsageError(`-s must be a percentage, but it is '${stability ?? ""}'`);
  return {
    window:
      mode === "count_windows"
        ? {
            kind: "count",
            requests: count("measurement-request-count") ?? PERF_DEFAULTS.measurementRequestCount,
          }
        : { kind: "time", durationNs: intervalMs * 1e6 },
    stabilityPercent,
    maxTrials: Math.max(count("max-trials") ?? PERF_DEFAULTS.maxTrials, 1),
    percentile,
    latencyLimitNs: (count("latency-threshold") ?? 0) * 1e6,
    warmupRequests: count("warmup-request-count") ?? 0,
    requestCount: count("request-count") ?? 0,
  };
}

function idRangeOf(text: string): { readonly start: number; readonly end?: number } {
  const [, start, end] = /^(\d{1,15})(?::(\d{1,15}))?$/.exec(text) ?? [];
  if (start === undefined || Number(start) === 0 || (end !== undefined && Number(end) <= Number(start))) {
    throw new UsageError(
      `--sequence-id-range must be START[:END], START above 0 and below END, but it is '${text}'`,
    );
  }
  return { start: Number(start), ...(end !== undefined && { end: Number(end) }) };
}

function parameterOf(text: string): readonly [string, ParameterValue] {
  const [, name, value = "", type = "string"] =
    /^([^:]+):(.*?)(?::(int|string|bool|boolean|double|float))?$/.exec(text) ?? [];
  if (name === undefined || !text.includes(":")) {
    throw new UsageError(`--request-parameter must be NAME:VALUE[:TYPE], but it is '${text}'`);
  }
  switch (type) {
    case "int":
      if (!/^-?\d{1,18}$/.test(value)) throw new UsageError(`--request-parameter '${text}' has no integer`);
      return [name, BigInt(value)];
    case "bool":
    case "boolean":
      return [name, value.toLowerCase() === "true"];
    case "double":
    case "float":
      return [name, Number(value)];
    default:
      return [name, value];
  }
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,12}$/.test(text)) return Number(text);
  throw new UsageError(`--${name} must be a whole number, but it is '${text}'`);
}

function oneOf<Choice extends string>(
  name: string,
  text: string | undefined,
  choices: readonly Choice[],
): Choice | undefined {
  if (text === undefined) return undefined;
  const choice = choices.find((candidate) => candidate === text);
  if (choice !== undefined) return choice;
  throw new UsageError(`--${name} must be one of ${choices.join(", ")}, but it is '${text}'`);
}
