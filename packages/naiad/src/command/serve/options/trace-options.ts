import type { TraceConfig } from "@naiad/protocol";
import { DEFAULT_TRACE_CONFIG, parseTraceConfig } from "@naiad/protocol";
import { UsageError } from "../../command-io.ts";

export interface TraceFlags {
  /** Texts of an option, in their order. */
  all(name: string): readonly string[];
}

export interface TraceOptions {
  readonly config: TraceConfig;
  readonly warnings: readonly string[];
}

/** Triton's older options, by what says the same now. */
const OLDER: readonly (readonly [flag: string, setting: string])[] = [
  ["trace-file", "triton,file"],
  ["trace-level", "level"],
  ["trace-rate", "rate"],
  ["trace-count", "count"],
  ["trace-log-frequency", "triton,log-frequency"],
];

/** By setting, the variable and the value that stands in for it, as in Triton. */
const BATCHING = [
  ["bsp_max_queue_size", "OTEL_BSP_MAX_QUEUE_SIZE", "2048"],
  ["bsp_schedule_delay", "OTEL_BSP_SCHEDULE_DELAY", "5000"],
  ["bsp_max_export_batch_size", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "512"],
] as const;

const NO_FILE = "nothing is traced: there is a trace level, but no file, --trace-config triton,file=<path>";

/** Reads `--trace-config` and the options that it has replaced. Throws a `UsageError` with Triton's texts. */
export function readTraceOptions(
  flags: TraceFlags,
  environment: Readonly<Record<string, string | undefined>>,
): TraceOptions {
  const older = OLDER.flatMap(([flag, setting]) => flags.all(flag).map((value) => `${setting}=${value}`));
  const texts = [...older, ...flags.all("trace-config")];
  try {
    const config = parseTraceConfig(texts, { ...DEFAULT_TRACE_CONFIG, destination: "file" });
    if (config.mode === "triton") {
      const isLost = config.level.length > 0 && config.file === "";
      return { config: { ...config, openTelemetry: [] }, warnings: isLost ? [NO_FILE] : [] };
    }
    return {
      config: { ...config, openTelemetry: withBatching(config.openTelemetry, environment) },
      warnings: ["trace-file", "trace-log-frequency"]
        .filter((flag) => flags.all(flag).length > 0)
        .map((flag) => `'--${flag}' is deprecated and will be ignored with opentelemetry tracing mode.`),
    };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** What the command line leaves open about batches of spans comes from the environment, and is told with the settings. */
function withBatching(
  given: TraceConfig["openTelemetry"],
  environment: Readonly<Record<string, string | undefined>>,
): TraceConfig["openTelemetry"] {
  const others = BATCHING.filter(([name]) => given.every(([other]) => other !== name));
  return others.reduce((settings, [name, variable, value]) => {
    const text = `opentelemetry,${name}=${environment[variable] ?? value}`;
    try {
      return [...settings, ...parseTraceConfig([text]).openTelemetry];
    } catch (error) {
      const [, reason = ""] = error instanceof Error ? error.message.split("\n") : [];
      throw new UsageError(`Bad option: "${variable}".\n${reason}`, { cause: error });
    }
  }, given);
}
