export type Labels = Readonly<Record<string, string>>;

/** All metrics of one name. */
export type MetricFamily = {
  readonly name: string;
  /** One line. */
  readonly help: string;
} & (
  | { readonly kind: "counter" | "gauge"; readonly metrics: readonly NumberMetric[] }
  | { readonly kind: "histogram"; readonly metrics: readonly (HistogramValue & Labelled)[] }
  | { readonly kind: "summary"; readonly metrics: readonly (SummaryValue & Labelled)[] }
);

export interface Labelled {
  readonly labels: Labels;
}

export interface NumberMetric extends Labelled {
  readonly value: number;
}

export interface HistogramValue {
  readonly count: number;
  readonly sum: number;
  /** Ascending, each with the number of values up to its bound; the last one, without a bound, is `count`. */
  readonly buckets: readonly { readonly upperBound: number; readonly count: number }[];
}

export interface SummaryValue {
  readonly count: number;
  readonly sum: number;
  /** Of a sliding window; NaN where that is empty. */
  readonly quantiles: readonly { readonly quantile: number; readonly value: number }[];
}
