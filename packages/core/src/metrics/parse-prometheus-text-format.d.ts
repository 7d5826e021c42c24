/** The package has no types of its own; these are the parts that tests read. */
declare module "parse-prometheus-text-format" {
  interface ParsedFamily {
    readonly name: string;
    readonly help: string;
    readonly type: "COUNTER" | "GAUGE" | "SUMMARY" | "HISTOGRAM" | "UNTYPED";
    readonly metrics: readonly ParsedMetric[];
  }

  interface ParsedMetric {
    readonly labels?: Readonly<Record<string, string>>;
    /** Of counters and gauges. */
    readonly value?: string;
    /** Of summaries and histograms. */
    readonly count?: string;
    readonly sum?: string;
    readonly quantiles?: Readonly<Record<string, string>>;
    readonly buckets?: Readonly<Record<string, string>>;
  }

  export default function parsePrometheusTextFormat(text: string): readonly ParsedFamily[];
}
