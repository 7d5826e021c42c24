import type { ModelConfig } from "@naiad/model-config";
import type { WatchdogLimits } from "@naiad/protocol";

/**
 * The server's limits with those that a model sets in its own `parameters`: `watchdog_create_ms`,
 * `watchdog_first_run_ms` and `watchdog_run_ms`. A value that is not a number counts as not set; 0 means no limit.
 */
export function watchdogLimits(
  server: WatchdogLimits,
  parameters: ModelConfig["parameters"],
): WatchdogLimits {
  const own = (key: string, otherwise: number): number => {
    const text = parameters[key]?.stringValue.trim();
    const value = Number(text);
    return text === undefined || text === "" || !Number.isFinite(value) || value < 0 ? otherwise : value;
  };
  return {
    createMs: own("watchdog_create_ms", server.createMs),
    firstRunMs: own("watchdog_first_run_ms", server.firstRunMs),
    runMs: own("watchdog_run_ms", server.runMs),
  };
}
