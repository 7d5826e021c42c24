import type {
  InferStatistics,
  ModelStatistics,
  ModelVersionStatistics,
  StatisticDuration,
} from "@naiad/protocol";

/** What the server's statistics of a model say about the time between two looks at them. Times are means of a request. */
export interface ServerSplit {
  readonly inferences: number;
  readonly executions: number;
  /** Requests that succeeded. */
  readonly requests: number;
  readonly requestNs: number;
  readonly queueNs: number;
  readonly computeInputNs: number;
  readonly computeInferNs: number;
  readonly computeOutputNs: number;
  /** What of a request is none of the above. */
  readonly overheadNs: number;
  /** Absent where the cache was not asked. */
  readonly cache?: CacheSplit;
}

/** Of a model behind the one that is measured. */
export interface ComposingSplit extends ServerSplit {
  readonly name: string;
  /** Those that were asked, where they are more than one. */
  readonly version: string;
}

export interface CacheSplit {
  readonly hits: number;
  readonly misses: number;
  readonly hitNs: number;
  readonly missNs: number;
}

/** Sums over versions and windows. */
interface Totals extends Readonly<Record<keyof InferStatistics, StatisticDuration>> {
  readonly inferences: number;
  readonly executions: number;
}

const NOTHING: StatisticDuration = { count: 0, ns: 0 };

export interface StatisticsPair {
  readonly before: ModelStatistics;
  readonly after: ModelStatistics;
}

/** `modelVersion` `""`: whichever versions were asked between the looks. */
export function composingSplit(
  looks: readonly StatisticsPair[],
  modelName: string,
  modelVersion: string,
): ComposingSplit {
  const asked = looks.flatMap(({ after, before }) =>
    after.model_stats.filter(({ execution_count, name, version }) => {
      const earlier = before.model_stats.find((one) => one.name === name && one.version === version);
      return name === modelName && execution_count > (earlier?.execution_count ?? 0);
    }),
  );
  const versions = [...new Set(asked.map(({ version }) => version))];
  return {
    name: modelName,
    version: modelVersion === "" ? versions.join("+") : modelVersion,
    ...serverSplit(looks, modelName, modelVersion),
  };
}

/** The difference between pairs of looks, added up. `modelVersion` `""`: of all versions. */
export function serverSplit(
  looks: readonly StatisticsPair[],
  modelName: string,
  modelVersion: string,
): ServerSplit {
  const isMeant = ({ name, version }: ModelVersionStatistics): boolean =>
    name === modelName && (modelVersion === "" || version === modelVersion);
  const sum = (side: "before" | "after"): Totals =>
    totals(looks.flatMap((look) => look[side].model_stats).filter(isMeant));
  return splitOf(difference(sum("after"), sum("before")));
}

const KEYS: readonly (keyof InferStatistics)[] = [
  "success",
  "fail",
  "queue",
  "compute_input",
  "compute_infer",
  "compute_output",
  "cache_hit",
  "cache_miss",
];

function totals(statistics: readonly ModelVersionStatistics[]): Totals {
  const ofKey = (key: keyof InferStatistics): StatisticDuration =>
    statistics.reduce((sum, { inference_stats: stats }) => add(sum, durationOf(stats, key), 1), NOTHING);
  return {
    ...mapKeys(ofKey),
    inferences: statistics.reduce((sum, { inference_count }) => sum + inference_count, 0),
    executions: statistics.reduce((sum, { execution_count }) => sum + execution_count, 0),
  };
}

/** Servers of older releases leave members out. */
function durationOf(stats: Partial<InferStatistics>, key: keyof InferStatistics): StatisticDuration {
  return stats[key] ?? NOTHING;
}

function difference(after: Totals, before: Totals): Totals {
  return {
    ...mapKeys((key) => add(after[key], before[key], -1)),
    inferences: after.inferences - before.inferences,
    executions: after.executions - before.executions,
  };
}

function mapKeys(
  value: (key: keyof InferStatistics) => StatisticDuration,
): Record<keyof InferStatistics, StatisticDuration> {
  const entries = KEYS.map((key) => [key, value(key)] as const);
  return Object.fromEntries(entries) as Record<keyof InferStatistics, StatisticDuration>;
}

function add(one: StatisticDuration, other: StatisticDuration, sign: 1 | -1): StatisticDuration {
  return { count: one.count + sign * other.count, ns: one.ns + sign * other.ns };
}

function splitOf(totalsOf: Totals): ServerSplit {
  const { success, cache_hit: hit, cache_miss: miss } = totalsOf;
  // Per request, although what the cache answered was not executed: the parts then add up.
  const mean = ({ ns }: StatisticDuration): number => (success.count === 0 ? 0 : ns / success.count);
  const requestNs = mean(success);
  const queueNs = mean(totalsOf.queue);
  const computeInputNs = mean(totalsOf.compute_input);
  const computeInferNs = mean(totalsOf.compute_infer);
  const computeOutputNs = mean(totalsOf.compute_output);
  const parts = queueNs + computeInputNs + computeInferNs + computeOutputNs;
  return {
    inferences: totalsOf.inferences,
    executions: totalsOf.executions,
    requests: success.count,
    requestNs,
    queueNs,
    computeInputNs,
    computeInferNs,
    computeOutputNs,
    overheadNs: Math.max(requestNs - parts - mean(hit) - mean(miss), 0),
    ...(hit.count + miss.count > 0 && {
      cache: {
        hits: hit.count,
        misses: miss.count,
        hitNs: hit.count === 0 ? 0 : hit.ns / hit.count,
        missNs: miss.count === 0 ? 0 : miss.ns / miss.count,
      },
    }),
  };
}
