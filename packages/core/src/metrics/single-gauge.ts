import type { MetricFamily, NumberMetric } from "./metric-family.ts";

/** One value without labels; a family without metrics where it is not known. */
export function gauge(name: string, help: string, value: number | undefined): MetricFamily {
  return { kind: "gauge", name, help, metrics: known(value, {}) };
}

export function known(value: number | undefined, labels: NumberMetric["labels"]): readonly NumberMetric[] {
  return value === undefined ? [] : [{ labels, value }];
}
