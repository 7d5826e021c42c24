import type { InferenceClient } from "@naiad/client";
import type { Clock } from "@naiad/core";
import { createBrowserClock } from "@naiad/runtime/platform";
import { createClientTarget } from "./client-target.ts";
import type { MeasureSettings } from "./measure-settings.ts";
import { measurementPlan } from "./measure-settings.ts";
import type { PerfLevel, PerfReport, PerfReportHead, PerfWindow } from "./perf-report.ts";
import { runMeasurement } from "./run-measurement.ts";
import { settingsLines } from "./settings-text.ts";

export interface MeasureOptions extends MeasureSettings {
  /** `server.client` for the way over the port, a client of `createFetchTransport` for that over HTTP. */
  readonly client: InferenceClient;
  /** What the report calls that way. Default `port`. */
  readonly transport?: string;
  /** Hears, before the first request, what perf_analyzer prints of its settings. */
  readonly onSettings?: (lines: readonly string[], head: PerfReportHead) => void;
  readonly onWindow?: (value: number, window: PerfWindow) => void;
  readonly onLevel?: (level: PerfLevel) => void;
  readonly signal?: AbortSignal;
}

/**
 * Measures throughput and latency of a model as perf_analyzer does, from the page that calls it. Rejects with the error of the
 * first request that fails, with INVALID_ARG for options that make no sense, and with the signal's reason.
 */
export async function measure(
  options: MeasureOptions,
  clock: Clock = createBrowserClock(),
): Promise<PerfReport> {
  const { client, onSettings, transport = "port" } = options;
  const plan = measurementPlan(options, (name) => name);
  return runMeasurement({
    ...plan,
    target: createClientTarget(client, { name: transport, nowNs: () => clock.nowNs() }),
    clock,
    onModel: (model, head) => {
      onSettings?.(settingsLines(plan, { model }), head);
    },
    onWindow: options.onWindow ?? (() => undefined),
    onLevel: options.onLevel ?? (() => undefined),
    signal: options.signal ?? new AbortController().signal,
  });
}
