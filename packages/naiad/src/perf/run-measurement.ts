import type { Clock } from "@naiad/core";
import type { InferenceRequest } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { Distribution } from "./arrivals.ts";
import type { DataSetOptions } from "./data-set.ts";
import { createDataSet } from "./data-set.ts";
import type { LevelContext } from "./level-context.ts";
import type { LoadRange, MeasuredLevel, Search } from "./load-range.ts";
import { nextLevel } from "./load-range.ts";
import { measureLevel } from "./measure-level.ts";
import type { ComposingModel, PerfModel } from "./perf-model.ts";
import { readPerfModel } from "./perf-model.ts";
import type { PerfLevel, PerfReport, PerfReportHead, PerfWindow } from "./perf-report.ts";
import { seededRandom } from "./random.ts";
import type { SequenceOptions } from "./request-source.ts";
import { createRequestSource } from "./request-source.ts";
import type { MetricsSource } from "./server-metrics.ts";
import type { PerfTarget } from "./target.ts";
import { answered } from "./wait.ts";

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
  /** Models whose statistics are told beside those of an ensemble's. */
  readonly composing: readonly ComposingModel[];
  /** Absent: no metrics are read. */
  readonly metrics?: MetricsSource;
  /** Called before the first request. */
  readonly onModel: (model: PerfModel, head: PerfReportHead) => void;
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
  const { clock, data, load, modelName, modelVersion, onLevel, parameters, rule, sequences, target } =
    measurement;
  const model = await describeModel(measurement, { name: modelName, version: modelVersion });
  checkSequenceIds(measurement, model);
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
    composing: await allComposing(model, measurement),
  };
  const head: PerfReportHead = {
    modelName: model.name,
    modelVersion,
    transport: target.name,
    batchSize: data.batchSize,
    load: load.kind,
    clockOriginMs: clock.epochMs() - clock.nowNs() / 1e6,
    ...(rule.percentile !== undefined && { percentile: rule.percentile }),
  };
  measurement.onModel(model, head);
  const levels: PerfLevel[] = [];
  for (let value = firstLevel(load); value !== undefined; value = followingLevel(load, levels)) {
    const level = await measureLevel(value, context);
    levels.push(level);
    onLevel(level);
  }
  return { ...head, levels };
}

function firstLevel(load: PerfLoad): number | undefined {
  if (load.kind !== "intervals") return nextLevel(load.range, load.search, []);
  const total = load.intervalsNs.reduce((sum, interval) => sum + interval, 0);
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

async function describeModel(
  { clock, signal, target }: Measurement,
  { name, version }: ComposingModel,
): Promise<PerfModel> {
  const metadata = await answered(target.modelMetadata(name, version), { clock, signal });
  const config = await answered(target.modelConfig(name, version), { clock, signal });
  return readPerfModel(metadata, config, version);
}

/** With the models of the ensembles among them. */
async function allComposing(model: PerfModel, measurement: Measurement): Promise<readonly ComposingModel[]> {
  const found = [...model.composing, ...measurement.composing];
  for (const one of found) {
    const inner = await describeModel(measurement, one);
    for (const innermost of inner.composing) {
      const isKnown = found.some((one) => one.name === innermost.name && one.version === innermost.version);
      if (!isKnown) found.push(innermost);
    }
  }
  return found;
}

/** Sequences that are open at the same time must not share an id. */
function checkSequenceIds({ load, sequences }: Measurement, { isSequence, name }: PerfModel): void {
  const { end, start } = sequences.idRange;
  if (!isSequence || end === undefined) return;
  const open = load.kind === "concurrency" ? Math.max(load.range.end, load.range.start) : sequences.count;
  if (open <= end - start) return;
  throw new InferenceError(
    "INVALID_ARG",
    `${open} sequences of model '${name}' may be open at a time, but there are only ${end - start} ids`,
  );
}
