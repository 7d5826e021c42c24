/** What stands at the metrics end point beside counts: Triton's `--metrics-config`. */
export interface MetricsConfig {
  /** Sums of durations. */
  readonly counterLatencies: boolean;
  /** Quantiles over the last minute. */
  readonly summaryLatencies: boolean;
  /** How long first responses took, in buckets. */
  readonly histogramLatencies: boolean;
  /** Of the summaries. */
  readonly summaryQuantiles: readonly QuantileTarget[];
}

/** A quantile, and by how much the rank of what is told for it may be wrong; both between 0 and 1. */
export interface QuantileTarget {
  readonly quantile: number;
  readonly error: number;
}

export const DEFAULT_METRICS_CONFIG: MetricsConfig = {
  counterLatencies: true,
  summaryLatencies: false,
  histogramLatencies: false,
  summaryQuantiles: [
    { quantile: 0.5, error: 0.05 },
    { quantile: 0.9, error: 0.01 },
    { quantile: 0.95, error: 0.001 },
    { quantile: 0.99, error: 0.001 },
    { quantile: 0.999, error: 0.001 },
  ],
};

/**
 * Reads `--metrics-config` values: `<setting>=<value>`, where a later text for the same setting counts. Throws a TypeError
 * for what is not of this form, which Triton skips with a line in its log.
 */
export function parseMetricsConfig(texts: readonly string[]): MetricsConfig {
  return texts.reduce((config, text) => ({ ...config, ...readSetting(text) }), DEFAULT_METRICS_CONFIG);
}

function readSetting(text: string): Partial<MetricsConfig> {
  const split = text.indexOf("=");
  const value = text.slice(split + 1);
  switch (text.slice(0, Math.max(0, split))) {
    case "counter_latencies":
      return { counterLatencies: readBoolean(value, text) };
    case "summary_latencies":
      return { summaryLatencies: readBoolean(value, text) };
    case "histogram_latencies":
      return { histogramLatencies: readBoolean(value, text) };
    case "summary_quantiles":
      return { summaryQuantiles: value.split(",").map((pair) => readTarget(pair, text)) };
    default:
      throw new TypeError(`metrics configuration '${text}' is none of ${SETTINGS}`);
  }
}

const SETTINGS =
  "counter_latencies=, summary_latencies= and histogram_latencies=true|false, " +
  "summary_quantiles=<quantile>:<error>[,<quantile>:<error>...]";

function readBoolean(value: string, text: string): boolean {
  if (value === "true" || value === "false") return value === "true";
  throw new TypeError(`metrics configuration '${text}' is neither true nor false`);
}

function readTarget(pair: string, text: string): QuantileTarget {
  const [quantile = NaN, error = NaN, ...more] = pair.split(":").map(readFraction);
  if (quantile > 0 && quantile < 1 && error > 0 && error < 1 && more.length === 0) return { quantile, error };
  throw new TypeError(
    `metrics configuration '${text}': '${pair}' is not <quantile>:<error>, each between 0 and 1`,
  );
}

function readFraction(text: string): number {
  return text.trim() === "" ? NaN : Number(text);
}
