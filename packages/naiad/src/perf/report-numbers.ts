import type { PerfLevel } from "./perf-report.ts";

/** Numbers as perf_analyzer writes them. */

/** Six digits at most. */
export function numberText(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** In reports of request rates: two digits behind the point. */
export function rateText(value: number): string {
  return value.toFixed(2);
}

export function usec(ns: number): string {
  return String(Math.round(Math.max(ns, 0) / 1e3));
}

/** The percentiles that are told, rising: perf_analyzer's, and the one that latencies were judged by. */
export function percentilesTold(percentile: number | undefined): readonly number[] {
  const all = new Set([50, 90, 95, 99, ...(percentile === undefined ? [] : [percentile])]);
  return [...all].sort((one, other) => one - other);
}

export function percentileNs({ latency }: PerfLevel, percent: number): number {
  switch (percent) {
    case 50:
      return latency.p50Ns;
    case 90:
      return latency.p90Ns;
    case 95:
      return latency.p95Ns;
    case 99:
      return latency.p99Ns;
    default:
      return latency.judgedNs;
  }
}
