import type { TraceLevel } from "./trace.ts";

/** What traces are at the start of a server: Triton's `--trace-config`. */
export interface TraceConfig {
  readonly mode: TraceMode;
  /** Empty: nothing is traced. */
  readonly level: readonly TraceLevel[];
  /** One request of so many. */
  readonly rate: number;
  /** How many; -1: any number. */
  readonly count: number;
  readonly logFrequency: number;
  readonly file: string;
  /** Whether traces go into a file, which must have a name then, or are kept for whoever asks the server for them. */
  readonly destination: "file" | "memory";
  /** What the mode opentelemetry adds to the settings, in its order. */
  readonly openTelemetry: readonly (readonly [name: OpenTelemetrySetting, value: string])[];
}

export type TraceMode = "triton" | "opentelemetry";

export const OPEN_TELEMETRY_SETTINGS = [
  "url",
  "resource",
  "bsp_max_queue_size",
  "bsp_schedule_delay",
  "bsp_max_export_batch_size",
] as const;
export type OpenTelemetrySetting = (typeof OPEN_TELEMETRY_SETTINGS)[number];

export const DEFAULT_TRACE_CONFIG: TraceConfig = {
  mode: "triton",
  level: [],
  rate: 1000,
  count: -1,
  logFrequency: 0,
  file: "",
  destination: "memory",
  openTelemetry: [],
};

/**
 * Reads `--trace-config` values: `[<mode>,]<setting>=<value>`. Throws a TypeError, with Triton's text where it has one:
 * settings that there are not are ignored there and refused here. `file` and `log-frequency` may stand without their
 * mode, and what is of every mode with one. `base` is what holds without a text.
 */
export function parseTraceConfig(
  texts: readonly string[],
  base: TraceConfig = DEFAULT_TRACE_CONFIG,
): TraceConfig {
  const settings = texts.map(readSetting);
  const mode = settings.findLast(({ name }) => name === "mode");
  const config = settings.reduce((known, setting) => ({ ...known, ...readValue(setting, known) }), {
    ...base,
    ...(mode !== undefined && { mode: readMode(mode.value) }),
  });
  const isOff = settings.some(({ name, value }) => name === "level" && readTraceLevel(value) === "OFF");
  return isOff ? { ...config, level: [] } : config;
}

interface TraceConfigSetting {
  /** Absent: of every mode. */
  readonly mode: TraceMode | undefined;
  readonly name: string;
  readonly value: string;
}

function readSetting(text: string): TraceConfigSetting {
  const comma = text.indexOf(",");
  if (comma === 0) {
    throw new TypeError(
      "No trace mode specified. --trace-config option format is <trace mode>,<setting>=<value> or " +
        `<setting>=<value>. Got ${text}`,
    );
  }
  const prefix = comma < 0 ? undefined : text.slice(0, comma);
  const mode = prefix === undefined ? undefined : readMode(prefix);
  const equals = text.indexOf("=", comma + 1);
  const name = text.slice(comma + 1, Math.max(comma + 1, equals));
  const value = text.slice(equals + 1);
  if (equals >= 0 && name !== "" && value !== "") return { mode, name, value };
  throw new TypeError(`--trace-config option format is '<trace mode>,<setting>=<value>'. Got ${text}`);
}

function readValue({ mode, name, value }: TraceConfigSetting, known: TraceConfig): Partial<TraceConfig> {
  const option = `--trace-config ${mode === undefined ? "" : `${mode},`}${name}`;
  switch (name) {
    case "level": {
      const level = bad(option, () => readTraceLevel(value));
      return level === "OFF" ? {} : { level: [...new Set([...known.level, level])] };
    }
    case "rate":
      return { rate: bad(option, () => readTraceNumber(value)) >>> 0 };
    case "count":
      return { count: bad(option, () => readTraceNumber(value)) };
  }
  if (mode === undefined && name === "mode") return {};
  if (mode !== "opentelemetry") {
    if (name === "file") return { file: value };
    if (name === "log-frequency") return { logFrequency: bad(option, () => readTraceNumber(value)) >>> 0 };
  } else {
    const setting = OPEN_TELEMETRY_SETTINGS.find((one) => one === name);
    if (setting !== undefined) return { openTelemetry: withOpenTelemetry(known, setting, value, option) };
  }
  throw new TypeError(
    `--trace-config: there is no setting '${name}'${mode === undefined ? "" : ` of ${mode}`}`,
  );
}

function withOpenTelemetry(
  { openTelemetry }: TraceConfig,
  name: OpenTelemetrySetting,
  value: string,
  option: string,
): TraceConfig["openTelemetry"] {
  if (name === "resource") {
    if (!/^[^=]+=/.test(value)) throw new TypeError(`${option} must be <key>=<value>, but it is '${value}'`);
    return [...openTelemetry, [name, value]];
  }
  const others = openTelemetry.filter(([other]) => other !== name);
  if (name === "url") return [...others, [name, value]];
  return [...others, [name, String(bad(option, () => readTraceNumber(value, 2 ** 32 - 1)))]];
}

function readMode(text: string): TraceMode {
  const mode = text.toLowerCase();
  if (mode === "triton" || mode === "opentelemetry") return mode;
  throw new TypeError(
    `invalid value for trace mode option: ${mode}. Available options are "triton" and "opentelemetry"`,
  );
}

/** As Triton's command line takes it, older words too. Throws a TypeError with its text. */
function readTraceLevel(text: string): TraceLevel | "OFF" {
  const level = text.toLowerCase();
  switch (level) {
    case "off":
    case "false":
      return "OFF";
    case "timestamps":
    case "true":
    case "on":
    case "min":
    case "max":
      return "TIMESTAMPS";
    case "tensors":
      return "TENSORS";
    default:
      throw new TypeError(`invalid value for trace level option: ${level}`);
  }
}

/** Like C++'s stoi: digits count up to the first other character. Throws a TypeError with Triton's text. */
function readTraceNumber(text: string, greatest = 2 ** 31 - 1): number {
  const digits = /^\s*([+-]?[0-9]+)/.exec(text)?.[1];
  if (digits === undefined) throw new TypeError(`Invalid option value. Got ${text}`);
  const value = Number(digits);
  const isUnsigned = greatest > 2 ** 31;
  if (value <= greatest && value >= (isUnsigned ? 0 : -(2 ** 31))) return value;
  throw new TypeError(`Provided option value is out of bound. Got ${text}`);
}

function bad<Value>(option: string, read: () => Value): Value {
  try {
    return read();
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new TypeError(`Bad option: "${option}".\n${reason}`, { cause: thrown });
  }
}
