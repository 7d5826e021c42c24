/** What of a window its stability is judged by. */
export interface WindowFigures {
  readonly inferencesPerSecond: number;
  /** The mean, or the percentile that was chosen. */
  readonly latencyNs: number;
}

export interface StabilityRule {
  /** How far the last windows may lie apart, in percent. */
  readonly stabilityPercent: number;
  readonly maxTrials: number;
  /** 0: none. */
  readonly latencyLimitNs: number;
}

export type WindowDecision =
  | { readonly kind: "more" }
  /** The measurement is over, and the last `windows` of them are its result. */
  | { readonly kind: "stable" | "unstable" | "over-limit"; readonly windows: number };

/** So many windows in a row must agree. */
const WINDOWS = 3;

/**
 * perf_analyzer's rule: the last three windows agree where neither throughput nor latency of one is further above another's
 * than the percentage says. A latency over the limit ends the measurement too.
 */
export function decideWindows(
  figures: readonly WindowFigures[],
  { latencyLimitNs, maxTrials, stabilityPercent }: StabilityRule,
): WindowDecision {
  const last = figures.slice(-WINDOWS);
  const isLast = figures.length >= maxTrials;
  if (last.length < WINDOWS && !isLast) return { kind: "more" };
  const windows = last.length;
  if (latencyLimitNs > 0 && last.some(({ latencyNs }) => latencyNs > latencyLimitNs)) {
    return { kind: "over-limit", windows };
  }
  const agree = (values: readonly number[]): boolean =>
    Math.max(...values) <= Math.min(...values) * (1 + stabilityPercent / 100);
  const isStable =
    windows === WINDOWS &&
    last.every(({ inferencesPerSecond }) => inferencesPerSecond > 0) &&
    agree(last.map(({ inferencesPerSecond }) => inferencesPerSecond)) &&
    agree(last.map(({ latencyNs }) => latencyNs));
  if (isStable) return { kind: "stable", windows };
  return isLast ? { kind: "unstable", windows } : { kind: "more" };
}
