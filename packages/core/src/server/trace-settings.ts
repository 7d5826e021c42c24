import type { TraceSettings, TraceSettingsUpdate } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { TraceUpdate, TraceValues } from "./trace-update.ts";
import { readTraceUpdate } from "./trace-update.ts";

/** Which requests are traced: globally, and for models that have settings of their own. */
export interface TraceControl {
  /** Of a model, which are the global ones as far as it has none of its own; `""`: the global ones. */
  settings(modelName: string): TraceSettings;
  /** Throws Triton's errors, and changes nothing then. */
  update(modelName: string, update: TraceSettingsUpdate): void;
  /** The updates that make of a fresh control what this one is, in their order. */
  overrides(): readonly TraceOverride[];
}

/** Plain data. `modelName` is `""` for the global settings. */
export interface TraceOverride {
  readonly modelName: string;
  readonly update: TraceSettingsUpdate;
}

export interface TraceControlOptions {
  /** Where traces go. Without one Triton refuses to trace. */
  readonly file?: string;
  /** Called after each change. */
  readonly onChange?: () => void;
}

/** What tritonserver has without any `--trace-config`. */
const DEFAULTS: TraceValues = { level: [], rate: 1000, count: -1, logFrequency: 0 };

export function createTraceControl({
  file = "",
  onChange = () => undefined,
}: TraceControlOptions = {}): TraceControl {
  let global: Partial<TraceValues> = {};
  const models = new Map<string, Partial<TraceValues>>();

  const globalValues = (own: Partial<TraceValues> = global): TraceValues => ({ ...DEFAULTS, ...own });
  const valuesOf = (modelName: string): TraceValues => ({ ...globalValues(), ...models.get(modelName) });

  function updateGlobal(update: TraceUpdate): void {
    const own = merged(global, update);
    const values = globalValues(own);
    refuseInvalid(values, file);
    // What models take over from the global settings must be valid together with their own. Triton changes the global
    // settings before it finds out that a model's are not, and leaves the other models behind.
    for (const model of models.values()) refuseInvalid({ ...values, ...model }, file);
    global = own;
  }

  function updateModel(modelName: string, update: TraceUpdate): void {
    const own = merged(models.get(modelName) ?? {}, update);
    if (Object.keys(own).length === 0) {
      models.delete(modelName);
      return;
    }
    refuseInvalid({ ...globalValues(), ...own }, file);
    models.set(modelName, own);
  }

  return {
    settings: (modelName) => {
      const { level, rate, count, logFrequency } = valuesOf(modelName);
      return {
        trace_level: level.length === 0 ? ["OFF"] : level,
        trace_rate: String(rate),
        trace_count: String(count),
        log_frequency: String(logFrequency),
        trace_file: file,
        trace_mode: "triton",
      };
    },
    update: (modelName, update) => {
      const read = readTraceUpdate(update);
      if (modelName === "") updateGlobal(read);
      else updateModel(modelName, read);
      onChange();
    },
    overrides: () =>
      [["", global] as const, ...models].flatMap(([modelName, own]) =>
        Object.keys(own).length === 0 ? [] : [{ modelName, update: updateOf(own) }],
      ),
  };
}

/** The values that are set after the update: `null` unsets one, what the update does not name stays. */
function merged(own: Partial<TraceValues>, update: TraceUpdate): Partial<TraceValues> {
  const entries = Object.entries({ ...own, ...update }).filter(([, value]) => value !== null);
  return Object.fromEntries(entries);
}

function updateOf({ level, rate, count, logFrequency }: Partial<TraceValues>): TraceSettingsUpdate {
  return {
    ...(level !== undefined && { trace_level: level.length === 0 ? ["OFF"] : level }),
    ...(rate !== undefined && { trace_rate: String(rate | 0) }),
    ...(count !== undefined && { trace_count: String(count) }),
    ...(logFrequency !== undefined && { log_frequency: String(logFrequency | 0) }),
  };
}

/** Settings that trace nothing are always valid. */
function refuseInvalid({ level, rate }: TraceValues, file: string): void {
  if (level.length === 0) return;
  const reason =
    rate === 0 ? "sample rate must be non-zero" : file === "" ? "trace file name is not given" : undefined;
  if (reason === undefined) return;
  throw new InferenceError("INVALID_ARG", `Attempting to set invalid trace setting :${reason}`);
}
