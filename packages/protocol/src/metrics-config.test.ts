import { describe, expect, it } from "vitest";
import { DEFAULT_METRICS_CONFIG, parseMetricsConfig } from "./metrics-config.ts";

describe("parseMetricsConfig", () => {
  it("gives Triton's defaults where nothing is said", () => {
    expect(parseMetricsConfig([])).toEqual({
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
    });
  });

  it("reads every setting, the last text for each", () => {
    const texts = [
      "counter_latencies=false",
      "summary_latencies=false",
      "summary_latencies=true",
      "histogram_latencies=true",
      "summary_quantiles=0.5:0.05, 0.25:1e-3",
    ];
    expect(parseMetricsConfig(texts)).toEqual({
      counterLatencies: false,
      summaryLatencies: true,
      histogramLatencies: true,
      summaryQuantiles: [
        { quantile: 0.5, error: 0.05 },
        { quantile: 0.25, error: 0.001 },
      ],
    });
    expect(parseMetricsConfig(["summary_latencies=true"])).toEqual({
      ...DEFAULT_METRICS_CONFIG,
      summaryLatencies: true,
    });
  });

  it.each([
    ["summary_latency=true", /is none of counter_latencies=/],
    ["summary_latencies", /is none of/],
    ["", /is none of/],
    ["summary_latencies=yes", /neither true nor false/],
    ["summary_quantiles=", /'' is not <quantile>:<error>/],
    ["summary_quantiles=0.5", /'0.5' is not <quantile>:<error>/],
    ["summary_quantiles=0.5:0.1:0.1", /is not <quantile>:<error>/],
    ["summary_quantiles=0.5:0.05,a:0.1", /'a:0.1' is not/],
    ["summary_quantiles=1:0.1", /each between 0 and 1/],
    ["summary_quantiles=0.5:0", /each between 0 and 1/],
  ])("refuses '%s'", (text, message) => {
    expect(() => parseMetricsConfig([text])).toThrow(message);
  });
});
