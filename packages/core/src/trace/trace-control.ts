import type { TraceConfig, TraceSettings, TraceSettingsUpdate } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { TraceUpdate, TraceValues } from "./trace-update.ts";
import { readTraceUpdate } from "./trace-update.ts";
import { TraceSetting } from "./trace-setting.ts";

/** Which requests are traced: globally, and for models that have settings of their own. */
export interface TraceControl {
  /** Of a model, which are the global ones as far as it has none of its own; `""`: the global ones. */
  settings(modelName: string): TraceSettings;
  /** Throws Triton's errors, and changes nothing then. */
  update(modelName: string, update: TraceSettingsUpdate): void;
  /** The updates that make of a fresh control what this one is, in their order. */
  overrides(): readonly TraceOverride[];
  /** As `update`, with what another control gave as an override: what traces nothing is no error then. */
  restore(override: TraceOverride): void;
  /** Whether any request may be traced. */
  readonly isActive: boolean;
  /** What a request of the model is held against. */
  settingOf(modelName: string): TraceSetting;
}

/** Plain data. `modelName` is `""` for the global settings. */
export interface TraceOverride {
  readonly modelName: string;
  readonly update: TraceSettingsUpdate;
}

export interface TraceControlOptions {
  /** What the global settings are before any change. */
  readonly config: TraceConfig;
  /** Called after each change. */
  readonly onChange?: () => void;
  /** Called when a count that ends has gone down, which `overrides` tell of. */
  readonly onCounted?: () => void;
  /** A setting was replaced, and all its traces are collected. */
  readonly onEnded?: (setting: TraceSetting) => void;
}

/** Settings that were set, and what they come to together with those that were not. */
interface Scope {
  readonly own: Partial<TraceValues>;
  readonly setting: TraceSetting;
}

export function createTraceControl({
  config,
  onChange = () => undefined,
  onCounted = () => undefined,
  onEnded = () => undefined,
}: TraceControlOptions): TraceControl {
  const { level, rate, count, logFrequency, mode } = config;
  const defaults: TraceValues = { level, rate, count, logFrequency };
  const lacksFile = mode === "triton" && config.destination === "file" && config.file === "";
  let settingCount = 0;
  let global: Scope = { own: {}, setting: newSetting(defaults) };
  const models = new Map<string, Scope>();
  let isActive = global.setting.isUsable;

  function newSetting(values: TraceValues): TraceSetting {
    settingCount += 1;
    return new TraceSetting({
      id: settingCount,
      values,
      isUsable: values.level.length > 0 && !lacksFile,
      onCounted,
      onEnded,
    });
  }

  /** Triton counts anew after each change; what is left of a count that was set stays. */
  function ownNow({ own, setting }: Scope): Partial<TraceValues> {
    return own.count === undefined ? own : { ...own, count: setting.values.count };
  }

  function changeGlobal(update: TraceUpdate, check: CheckValues): void {
    const own = merged(ownNow(global), update);
    const values = { ...defaults, ...own };
    check(values);
    // What models take over from the global settings must be valid together with their own. Triton changes the global
    // settings before it finds out that a model's are not, and leaves the other models behind.
    const changed = [...models].map(([name, scope]) => {
      const modelOwn = ownNow(scope);
      const modelValues = { ...values, ...modelOwn };
      // A model that has no traces left is no mistake of whoever changes the rest.
      check(modelOwn.count === 0 ? { ...modelValues, count: -1 } : modelValues);
      return [name, { own: modelOwn, setting: newSetting(modelValues) }] as const;
    });
    const replaced = [global, ...models.values()];
    global = { own, setting: newSetting(values) };
    for (const [name, scope] of changed) models.set(name, scope);
    for (const { setting } of replaced) setting.replace();
  }

  function changeModel(modelName: string, update: TraceUpdate, check: CheckValues): void {
    const scope = models.get(modelName);
    const own = merged(scope === undefined ? {} : ownNow(scope), update);
    if (Object.keys(own).length === 0) {
      models.delete(modelName);
    } else {
      const values = { ...global.setting.values, ...own };
      check(values);
      models.set(modelName, { own, setting: newSetting(values) });
    }
    scope?.setting.replace();
  }

  function change({ modelName, update }: TraceOverride, check: CheckValues): void {
    const read = readTraceUpdate(update);
    if (modelName === "") changeGlobal(read, check);
    else changeModel(modelName, read, check);
    isActive = [global, ...models.values()].some(({ setting }) => setting.isUsable);
    onChange();
  }

  /** Settings that trace nothing are always valid. */
  function refuseInvalid(values: TraceValues): void {
    if (values.level.length === 0) return;
    if (values.rate === 0) throw invalid("sample rate must be non-zero");
    if (lacksFile) throw invalid("trace file name is not given");
    // For which Triton has no reason to give.
    if (values.count === 0) throw invalid("trace_count is 0, or used up: set it anew");
  }

  const settingOf = (modelName: string): TraceSetting => (models.get(modelName) ?? global).setting;
  return {
    settings: (modelName) => settingsOf(settingOf(modelName).values, config),
    update: (modelName, update) => {
      change({ modelName, update }, refuseInvalid);
    },
    restore: (override) => {
      change(override, () => undefined);
    },
    overrides: () => {
      // Also of a count of the start something is used up.
      const counted = defaults.count < 0 ? {} : { count: global.setting.values.count };
      const ofModels = [...models].map(([name, scope]) => [name, ownNow(scope)] as const);
      return [["", { ...counted, ...ownNow(global) }] as const, ...ofModels].flatMap(([modelName, own]) =>
        Object.keys(own).length === 0 ? [] : [{ modelName, update: updateOf(own) }],
      );
    },
    get isActive() {
      return isActive;
    },
    settingOf,
  };
}

/** Throws for values that must not be set. */
type CheckValues = (values: TraceValues) => void;

/** In Triton's order. */
function settingsOf(
  { level, rate, count, logFrequency }: TraceValues,
  { file, mode, openTelemetry }: TraceConfig,
): TraceSettings {
  const resources = openTelemetry.flatMap(([name, value]) => (name === "resource" ? [value] : []));
  return {
    trace_level: level.length === 0 ? ["OFF"] : level,
    trace_rate: String(rate),
    trace_count: String(count),
    ...(mode === "triton" && { log_frequency: String(logFrequency), trace_file: file }),
    trace_mode: mode,
    ...(mode === "opentelemetry" && {
      ...Object.fromEntries(openTelemetry),
      ...(resources.length > 0 && { resource: resources.join(",") }),
    }),
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

function invalid(reason: string): InferenceError {
  return new InferenceError("INVALID_ARG", `Attempting to set invalid trace setting :${reason}`);
}
