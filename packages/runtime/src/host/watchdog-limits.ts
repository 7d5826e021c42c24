import type { ModelConfig } from "@naiad/model-config";
import type { WatchdogLimits } from "@naiad/protocol";

const PARAMETERS: Readonly<Record<keyof WatchdogLimits, string>> = {
  createMs: "watchdog_create_ms",
  firstRunMs: "watchdog_first_run_ms",
  runMs: "watchdog_run_ms",
};

type ModelParameters = ModelConfig["parameters"];

/**
 * The server's limits with those that a model sets in its own `parameters`: `watchdog_create_ms`,
 * `watchdog_first_run_ms` and `watchdog_run_ms`. A value that is not a number counts as not set; 0 means no limit.
 */
export function watchdogLimits(server: WatchdogLimits, parameters: ModelParameters): WatchdogLimits {
  const limit = (name: keyof WatchdogLimits): number => readLimit(parameters, name) ?? server[name];
  return { createMs: limit("createMs"), firstRunMs: limit("firstRunMs"), runMs: limit("runMs") };
}

/** One line for each limit of the model that cannot be read and is therefore ignored. */
export function watchdogWarnings(parameters: ModelParameters): readonly string[] {
  return (["createMs", "firstRunMs", "runMs"] as const).flatMap((name) => {
    const text = textOf(parameters, name);
    if (text === "" || readLimit(parameters, name) !== undefined) return [];
    return [`parameter '${PARAMETERS[name]}' is '${text}', not a number of milliseconds: it is ignored`];
  });
}

function readLimit(parameters: ModelParameters, name: keyof WatchdogLimits): number | undefined {
  const text = textOf(parameters, name);
  const value = Number(text);
  return text === "" || !Number.isFinite(value) || value < 0 ? undefined : value;
}

function textOf(parameters: ModelParameters, name: keyof WatchdogLimits): string {
  return parameters[PARAMETERS[name]]?.stringValue.trim() ?? "";
}
