import { describe, expect, it } from "vitest";
import type { MetricFamily } from "./metric-family.ts";
import { writeMetrics } from "./write-metrics.ts";

function gauge(...values: readonly number[]): MetricFamily {
  const metrics = values.map((value) => ({ labels: {}, value }));
  return { kind: "gauge", name: "g", help: "A gauge", metrics };
}

function valueLines(...values: readonly number[]): readonly string[] {
  return writeMetrics([gauge(...values)])
    .trimEnd()
    .split("\n")
    .slice(2);
}

describe("writeMetrics", () => {
  it("puts help and type before the metrics, labels in the order of their names", () => {
    const family: MetricFamily = {
      kind: "counter",
      name: "c",
      help: "Number of things",
      metrics: [
        { labels: { version: "1", model: "m", _team: "a" }, value: 3 },
        { labels: {}, value: 0 },
      ],
    };
    expect(writeMetrics([family, gauge(1)])).toBe(
      "# HELP c Number of things\n# TYPE c counter\n" +
        'c{_team="a",model="m",version="1"} 3\nc 0\n' +
        "# HELP g A gauge\n# TYPE g gauge\ng 1\n",
    );
  });

  it("leaves out families without metrics", () => {
    expect(writeMetrics([gauge()])).toBe("");
    expect(writeMetrics([])).toBe("");
  });

  it("escapes what the format uses itself", () => {
    const labels = { model: 'a\\b"c\nd\té{}' };
    expect(
      writeMetrics([{ kind: "gauge", name: "g", help: "h", metrics: [{ labels, value: 1 }] }]),
    ).toContain('g{model="a\\\\b\\"c\\nd\té{}"} 1\n');
    expect(writeMetrics([{ ...gauge(1), help: 'two\nlines \\ "q"' }])).toContain(
      '# HELP g two\\nlines \\\\ "q"\n# TYPE g gauge\n',
    );
  });

  it("writes numbers as C++ prints them with 16 digits", () => {
    const values: readonly (readonly [number, string])[] = [
      [0, "0"],
      [-0, "0"],
      [42, "42"],
      [16861294592, "16861294592"],
      [9007199254740991, "9007199254740991"],
      [1e16, "1e+16"],
      [1.5e300, "1.5e+300"],
      [1.611378656, "1.611378656"],
      [0.004683712, "0.004683712"],
      [0.02255639097744361, "0.02255639097744361"],
      [0.1 + 0.2, "0.3"],
      [2 / 3, "0.6666666666666666"],
      [100.5, "100.5"],
      [0.0001, "0.0001"],
      [0.00001, "1e-05"],
      [-2.5, "-2.5"],
      [NaN, "Nan"],
      [Infinity, "+Inf"],
      [-Infinity, "-Inf"],
    ];
    expect(valueLines(...values.map(([value]) => value))).toEqual(values.map(([, text]) => `g ${text}`));
  });

  it("tells a summary's count and sum, then its quantiles", () => {
    const quantiles = [
      { quantile: 0.5, value: 7 },
      { quantile: 0.999, value: NaN },
    ];
    const metrics = [{ labels: { model: "m" }, count: 2, sum: 14, quantiles }];
    expect(writeMetrics([{ kind: "summary", name: "s", help: "h", metrics }])).toBe(
      "# HELP s h\n# TYPE s summary\n" +
        's_count{model="m"} 2\ns_sum{model="m"} 14\n' +
        's{model="m",quantile="0.5"} 7\ns{model="m",quantile="0.999"} Nan\n',
    );
  });

  it("ends a histogram's buckets with one for everything", () => {
    const buckets = [
      { upperBound: -1, count: 0 },
      { upperBound: 2.5, count: 3 },
    ];
    const metrics = [{ labels: {}, count: 4, sum: 9.5, buckets }];
    expect(writeMetrics([{ kind: "histogram", name: "h", help: "h", metrics }])).toBe(
      "# HELP h h\n# TYPE h histogram\n" +
        'h_count 4\nh_sum 9.5\nh_bucket{le="-1"} 0\nh_bucket{le="2.5"} 3\nh_bucket{le="+Inf"} 4\n',
    );
  });
});
