import type { LoadOrigin, TraceOverride } from "@naiad/core";
import { parseModelFile } from "@naiad/core";
import type { LogSettingsUpdate, TraceSettingsUpdate } from "@naiad/protocol";

/** What a host leaves behind. Plain data, as JSON in the store. */
export interface Will {
  readonly hostId: string;
  /** Models that it served. */
  readonly models: readonly LoadOrigin[];
  readonly log: LogSettingsUpdate;
  readonly trace: readonly TraceOverride[];
}

/** `undefined` for what is no will: an older version of this page may have written it. */
export function readWill(text: string): Will | undefined {
  try {
    const will = asRecord(JSON.parse(text));
    const { hostId, models, log, trace } = will ?? {};
    if (typeof hostId !== "string" || !Array.isArray(models)) return undefined;
    return {
      hostId,
      models: models.flatMap(readOrigin),
      log: readLog(asRecord(log) ?? {}),
      trace: Array.isArray(trace) ? trace.flatMap(readOverride) : [],
    };
  } catch {
    return undefined;
  }
}

/** Nothing for what is no model; throws for a model whose files cannot be understood. */
function readOrigin(value: unknown): readonly LoadOrigin[] {
  const { modelName, config, files } = asRecord(value) ?? {};
  if (typeof modelName !== "string") return [];
  return [
    {
      modelName,
      ...(typeof config === "string" && { config }),
      ...(Array.isArray(files) && {
        files: files.map((file: unknown, index) => parseModelFile(file, `files[${index}]`)),
      }),
    },
  ];
}

function readLog(log: Readonly<Record<string, unknown>>): LogSettingsUpdate {
  const flag = (name: string): boolean | null => {
    const value = log[name];
    return typeof value === "boolean" ? value : null;
  };
  const { log_verbose_level: level, log_format: format } = log;
  return {
    log_info: flag("log_info"),
    log_warning: flag("log_warning"),
    log_error: flag("log_error"),
    log_verbose_level: typeof level === "number" ? level : null,
    log_format: typeof format === "string" ? format : null,
  };
}

function readOverride(value: unknown): readonly TraceOverride[] {
  const { modelName, update } = asRecord(value) ?? {};
  const given = asRecord(update);
  if (typeof modelName !== "string" || given === undefined) return [];
  const { trace_level: level } = given;
  const texts = ["trace_rate", "trace_count", "log_frequency"].flatMap((name) => {
    const text = given[name];
    return typeof text === "string" ? [[name, text] as const] : [];
  });
  const read: TraceSettingsUpdate = {
    ...(Array.isArray(level) && { trace_level: level.filter((word) => typeof word === "string") }),
    ...Object.fromEntries(texts),
  };
  return [{ modelName, update: read }];
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}
