import { readFile } from "node:fs/promises";
import type { ParameterValue, TraceSettingsUpdate } from "@naiad/protocol";
import type { MeasureSettings } from "../../perf/measure-settings.ts";
import { measurementPlan } from "../../perf/measure-settings.ts";
import { UsageError } from "../command-io.ts";
import { parseCommandLine } from "../parse-command-line.ts";
import { asUsage, shapeOptions } from "../server-options.ts";
import type { Connection } from "./connection-options.ts";
import { connectionOf, traceOf } from "./connection-options.ts";
import type { InputSource } from "./input-files.ts";
import { inputDataOf, readInputSource } from "./input-files.ts";
import type { Values } from "./option-values.ts";
import { oneOf, wholeNumber } from "./option-values.ts";
import type { PageOptions } from "./page/page-options.ts";
import { pageOptions } from "./page/page-options.ts";
import { IDLE_OPTIONS, PERF_OPTIONS, REFUSED_OPTIONS } from "./perf-flags.ts";

export interface PerfCommand {
  readonly kind: "measure";
  readonly way: Connection | PageOptions;
  readonly settings: Omit<MeasureSettings, "inputData">;
  readonly input: InputSource;
  /** What the report says of calls, where it was said here. */
  readonly calls: "synchronous" | "asynchronous" | undefined;
  readonly trace: TraceSettingsUpdate | undefined;
  readonly metrics: { readonly url: string; readonly intervalMs: number } | undefined;
  readonly csvFile: string | undefined;
  readonly verboseCsv: boolean;
  readonly profileFile: string | undefined;
  readonly verbose: boolean;
  readonly json: boolean;
  /** What was given and has no effect. */
  readonly warnings: readonly string[];
}

/** Throws a `UsageError` for what makes no sense; rejects where a file cannot be read. */
export async function readPerfOptions(
  argv: readonly string[],
): Promise<PerfCommand | { readonly kind: "help" | "version" }> {
  const { positionals, values } = parseCommandLine(withNegativeNumbers(argv), PERF_OPTIONS);
  if (values.help === true) return { kind: "help" };
  if (values.version === true) return { kind: "version" };
  const [extra] = positionals;
  if (extra !== undefined) throw new UsageError(`'${extra}' is no option; the model is named with -m`);
  refuseAbsent(values);
  const modelName = values["model-name"];
  if (modelName === undefined) throw new UsageError("the model is missing: -m NAME");
  oneOf("service-kind", values["service-kind"], ["triton"]);
  const settings = await settingsOf(modelName, values);
  const input = await readInputSource(inputOptions(values));
  // What makes no sense is told before a server is asked.
  asUsage(() => measurementPlan({ ...settings, inputData: inputDataOf(input) }, flagOf));
  const isVerboseCsv = values["verbose-csv"] === true;
  return {
    kind: "measure",
    way: await wayOf(values),
    settings,
    input,
    calls: callsOf(values),
    trace: traceOf(values),
    metrics: metricsOf(values),
    csvFile: values["latency-report-file"],
    verboseCsv: isVerboseCsv,
    profileFile: values["profile-export-file"],
    verbose: values.verbose === true,
    json: values.json === true,
    warnings: Object.entries(IDLE_OPTIONS)
      .filter(([name]) => values[name as keyof typeof IDLE_OPTIONS] !== undefined)
      .map(([name, reason]) => `--${name} has no effect: ${reason}`),
  };
}

/** Node's parser takes `-1` for an option of its own where it follows the option that it belongs to. */
function withNegativeNumbers(argv: readonly string[]): readonly string[] {
  return argv.flatMap((word, index) => {
    const next = argv[index + 1] ?? "";
    if (/^--[a-z-]+$/.test(word) && /^-\d+$/.test(next)) return [`${word}=${next}`];
    return /^-\d+$/.test(word) && /^--[a-z-]+$/.test(argv[index - 1] ?? "") ? [] : [word];
  });
}

function refuseAbsent(values: Values): void {
  for (const [name, reason] of Object.entries(REFUSED_OPTIONS)) {
    const value = values[name as keyof typeof REFUSED_OPTIONS];
    if (value !== undefined && value !== "none") throw new UsageError(`--${name}: ${reason}`);
  }
}

async function wayOf(values: Values): Promise<Connection | PageOptions> {
  const text = (values.transport ?? values.protocol ?? "http").toLowerCase();
  const option = values.transport === undefined ? "protocol" : "transport";
  const transport = oneOf(option, text, ["http", "grpc", "port", "fetch"]) ?? "http";
  switch (transport) {
    case "http":
    case "grpc":
      if (values["model-repository"] !== undefined) {
        throw new UsageError(
          "--model-repository needs --transport port or fetch; other servers have their own",
        );
      }
      return connectionOf(transport, values);
    case "port":
    case "fetch":
      return pageOptions(transport, values);
  }
}

function callsOf(values: Values): PerfCommand["calls"] {
  if (values.async === true && values.sync === true) {
    throw new UsageError("only one of --async and --sync can be given");
  }
  if (values.async === true) return "asynchronous";
  return values.sync === true ? "synchronous" : undefined;
}

function metricsOf(values: Values): PerfCommand["metrics"] {
  const { "metrics-interval": interval, "metrics-url": url = "localhost:8002/metrics" } = values;
  if (values["collect-metrics"] !== true) {
    if (interval === undefined && values["metrics-url"] === undefined) return undefined;
    throw new UsageError("--metrics-url and --metrics-interval need --collect-metrics");
  }
  const intervalMs = wholeNumber("metrics-interval", interval) ?? 1000;
  if (intervalMs === 0) throw new UsageError("--metrics-interval must be above 0");
  return { url: url.includes("://") ? url : `http://${url}`, intervalMs };
}

function inputOptions(values: Values): readonly string[] {
  const directory = values["data-directory"];
  const zero = values["deprecated-zero-input"] === true ? ["zero"] : [];
  return [...(values["input-data"] ?? []), ...(directory === undefined ? [] : [directory]), ...zero];
}

/** perf_analyzer's older names for a concurrency: one, or all up to the largest. */
function concurrencyRange(values: Values): string | undefined {
  const range = values["concurrency-range"];
  const single = values["deprecated-concurrency"];
  const isDynamic = values["deprecated-dynamic"] === true;
  if (range !== undefined && (single !== undefined || isDynamic)) {
    throw new UsageError("-t, -c and -d are older names that cannot be used with --concurrency-range");
  }
  if (!isDynamic) return range ?? single;
  return `${single ?? "1"}:${values["deprecated-max-concurrency"] ?? "0"}`;
}

async function settingsOf(modelName: string, values: Values): Promise<PerfCommand["settings"]> {
  const intervals = values["request-intervals"];
  const settings = {
    modelName,
    modelVersion: values["model-version"],
    concurrencyRange: concurrencyRange(values),
    requestRateRange: values["request-rate-range"],
    requestDistribution: oneOf("request-distribution", values["request-distribution"], [
      "constant",
      "poisson",
    ]),
    requestIntervals: intervals === undefined ? undefined : await intervalsIn(intervals),
    binarySearch: values["binary-search"],
    shapes: shapeOptions(values.shape ?? []),
    stringData: values["string-data"],
    stringLength: wholeNumber("string-length", values["string-length"]),
    batchSize: wholeNumber("batch-size", values["batch-size"]),
    requestParameters: Object.fromEntries((values["request-parameter"] ?? []).map(parameterOf)),
    measurementMode: oneOf("measurement-mode", values["measurement-mode"], ["time_windows", "count_windows"]),
    measurementInterval: wholeNumber("measurement-interval", values["measurement-interval"]),
    measurementRequestCount: wholeNumber("measurement-request-count", values["measurement-request-count"]),
    requestCount: wholeNumber("request-count", values["request-count"]),
    warmupRequestCount: wholeNumber("warmup-request-count", values["warmup-request-count"]),
    stabilityPercentage: percentage("stability-percentage", values["stability-percentage"]),
    maxTrials: wholeNumber("max-trials", values["max-trials"]),
    percentile: values.percentile === "-1" ? undefined : wholeNumber("percentile", values.percentile),
    latencyThreshold: wholeNumber("latency-threshold", values["latency-threshold"]),
    numOfSequences: wholeNumber("num-of-sequences", values["num-of-sequences"]),
    sequenceLength: wholeNumber("sequence-length", values["sequence-length"]),
    sequenceLengthVariation: wholeNumber("sequence-length-variation", values["sequence-length-variation"]),
    sequenceIdRange: values["sequence-id-range"],
    blsComposingModels: values["bls-composing-models"],
    keepMoments: values["profile-export-file"] !== undefined,
  };
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  // Absent is what is undefined.
  return Object.fromEntries(given) as unknown as PerfCommand["settings"];
}

/** What a setting is called here. */
export function flagOf(name: keyof MeasureSettings): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

async function intervalsIn(path: string): Promise<readonly number[]> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw new UsageError(`--request-intervals '${path}': ${String(error)}`, { cause: error });
  });
  const numbers = text
    .split(/\s+/)
    .filter((word) => word !== "")
    .map(Number);
  if (numbers.length === 0 || numbers.some((number) => !(number >= 0))) {
    throw new UsageError(`--request-intervals '${path}' must hold microseconds, one number a line`);
  }
  return numbers;
}

function percentage(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new UsageError(`--${name} must be a percentage, but it is '${text}'`);
}

function parameterOf(text: string): readonly [string, ParameterValue] {
  const [, name, value = "", type = "string"] =
    /^([^:]+):(.*?)(?::(int|uint|string|bool|boolean|double|float))?$/.exec(text) ?? [];
  if (name === undefined || !text.includes(":")) {
    throw new UsageError(`--request-parameter must be NAME:VALUE[:TYPE], but it is '${text}'`);
  }
  switch (type) {
    case "int":
    case "uint":
      if (!/^-?\d{1,18}$/.test(value)) throw new UsageError(`--request-parameter '${text}' has no integer`);
      return [name, BigInt(value)];
    case "bool":
    case "boolean":
      return [name, value.toLowerCase() === "true"];
    case "double":
    case "float":
      if (value.trim() === "" || Number.isNaN(Number(value))) {
        throw new UsageError(`--request-parameter '${text}' has no number`);
      }
      return [name, Number(value)];
    default:
      return [name, value];
  }
}
