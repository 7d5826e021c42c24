import type { Clock } from "@naiad/core";
import { InferenceError } from "@naiad/protocol";
import type { Distribution } from "./arrivals.ts";
import type { DataSetOptions } from "./data-set.ts";
import { createDataSet } from "./data-set.ts";
import type { LoadRange, MeasuredLevel, Search } from "./load-range.ts";
import { nextLevel } from "./load-range.ts";
import type { LevelContext } from "./measure-level.ts";
import { measureLevel } from "./measure-level.ts";
import type { PerfModel } from "./perf-model.ts";
import { readPerfModel } from "./perf-model.ts";
import type { PerfLevel, PerfReport, PerfWindow } from "./perf-report.ts";
import { seededRandom } from "./random.ts";
import type { SequenceOptions } from "./request-source.ts";
import { createRequestSource } from "./request-source.ts";
import type { PerfTarget } from "./target.ts";
import type { InferenceRequest } from "@naiad/protocol";

/** What is varied from level to level. */
export type PerfLoad =
  | { readonly kind: "concurrency"; readonly range: LoadRange; readonly search: Search }
  | {
      readonly kind: "request-rate";
      readonly range: LoadRange;
      readonly search: Search;
      readonly distribution: Distribution;
    }
  /** One level: requests after these intervals, again and again. */
  | { readonly kind: "intervals"; readonly intervalsNs: readonly number[] };

export interface MeasurementRule {
  /** When a window ends. */
  readonly window:
    | { readonly kind: "time"; readonly durationNs: number }
    | { readonly kind: "count"; readonly requests: number };
  readonly stabilityPercent: number;
  readonly maxTrials: number;
  /** Latencies are judged by it; `undefined`: by their mean. */
  readonly percentile: number | undefined;
  /** 0: none. */
  readonly latencyLimitNs: number;
  /** Requests before the first window of a level. */
  readonly warmupRequests: number;
  /** 0: windows until they agree; else one window of so many requests. */
  readonly requestCount: number;
}

export interface Measurement {
  readonly target: PerfTarget;
  readonly clock: Clock;
  readonly modelName: string;
  /** `""`: the one that the server chooses. */
  readonly modelVersion: string;
  readonly data: DataSetOptions;
  readonly load: PerfLoad;
  readonly rule: MeasurementRule;
  readonly sequences: SequenceOptions & {
    /** Open at a time in loads with a schedule; in others each request on its way is of another sequence. */
    readonly count: number;
  };
  readonly parameters: InferenceRequest["parameters"];
  /** Whether the report has the times of each request. */
  readonly keepMoments: boolean;
  readonly onWindow: (value: number, window: PerfWindow) => void;
  readonly onLevel: (level: PerfLevel) => void;
  readonly signal: AbortSignal;
}

const SEED = 1;

/**
 * Puts load on a model, level after level. Rejects with the error of the first request that fails, with INVALID_ARG where the
 * model cannot be sent what was asked for, and with the signal's reason.
 */
export async function runMeasurement(measurement: Measurement): Promise<PerfReport> {
  const { data, load, modelVersion, onLevel, parameters, rule, sequences, target } = measurement;
  const model = await describeModel(measurement);
  const source = createRequestSource({
    model,
    data: createDataSet(model, data),
    sequences,
    parameters,
    random: seededRandom(SEED),
  });
  const context: LevelContext = {
    ...measurement,
    model,
    source,
    composing: await allComposing(model, target),
  };
  const levels: PerfLevel[] = [];
  for (let value = firstLevel(load); value !== undefined; value = followingLevel(load, levels)) {
    const level = await measureLevel(value, context);
    levels.push(level);
    onLevel(level);
  }
  return {
    modelName: model.name,
    modelVersion,
    transport: target.name,
    batchSize: data.batchSize,
    load: load.kind,
    ...(rule.percentile !== undefined && { percentile: rule.percentile }),
    levels,
  };
}

function firstLevel(load: PerfLoad): number | undefined {
  if (load.kind !== "intervals") return nextLevel(load.range, load.search, []);
  const total = load.intervalsNs.reduce((sum, interval) => sum + interval, 0);
  if (total <= 0)
    throw new InferenceError("INVALID_ARG", "the intervals between requests must be above 0 together");
  return (load.intervalsNs.length / total) * 1e9;
}

function followingLevel(load: PerfLoad, levels: readonly PerfLevel[]): number | undefined {
  if (load.kind === "intervals") return undefined;
  const measured = levels.map(({ value, outcome }): MeasuredLevel => ({
    value,
    isWithinLimit: outcome !== "over-limit",
  }));
  return nextLevel(load.range, load.search, measured);
}

async function describeModel({ modelName, modelVersion, target }: Measurement): Promise<PerfModel> {
  const metadata = await target.modelMetadata(modelName, modelVersion);
  return readPerfModel(metadata, await target.modelConfig(modelName, modelVersion), modelVersion);
}

/** The models of an ensemble and of the ensembles in it. */
async function allComposing({ composing }: PerfModel, target: PerfTarget): Promise<readonly string[]> {
  const found = new Set(composing);
  for (const name of found) {
    const metadata = await target.modelMetadata(name, "");
    const inner = readPerfModel(metadata, await target.modelConfig(name, ""), "");
    for (const innermost of inner.composing) found.add(innermost);
  }
  return [...found];
}
