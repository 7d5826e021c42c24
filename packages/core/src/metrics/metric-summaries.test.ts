import { echoModel } from "@naiad/testing";
import { parseMetricsConfig } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { CACHE, linesOf, metricsOf, MS, send, served, valuesOf } from "../../test/metrics-bench.ts";

describe("the response cache", () => {
  it("is told of for models that use it, and as a whole", async () => {
    const bench = await served({
      models: { m: echoModel([1], "response_cache { enable: true }"), plain: echoModel() },
      options: { cacheConfig: CACHE, metricsConfig: parseMetricsConfig(["summary_latencies=true"]) },
      backend: { latencyNs: MS },
    });
    send(bench, 1);
    await bench.finish();
    send(bench, 1);
    await bench.finish();
    expect(
      await valuesOf(
        bench,
        "nv_cache_num_hits_per_model",
        "nv_cache_num_misses_per_model",
        "nv_inference_request_success",
        "nv_inference_count",
      ),
    ).toEqual(["1", "1", "2", "1"]);
    const metrics = await metricsOf(bench);
    expect(metrics.has("nv_cache_num_hits_per_model model=plain version=1")).toBe(false);
    const whole = ["num_entries", "num_lookups", "num_hits", "num_misses", "num_evictions"];
    expect(whole.map((name) => metrics.get(`nv_cache_${name}`))).toEqual(["1", "2", "1", "1", "0"]);
    expect(Number(metrics.get("nv_cache_util"))).toBeGreaterThan(0);

    expect(await linesOf(bench, "nv_inference_request_summary_us_count")).toEqual([
      'nv_inference_request_summary_us_count{model="plain",version="1"} 0',
    ]);
    expect(await linesOf(bench, "nv_inference_queue_summary_us_count")).toEqual([
      'nv_inference_queue_summary_us_count{model="m",version="1"} 2',
      'nv_inference_queue_summary_us_count{model="plain",version="1"} 0',
    ]);
    expect(await linesOf(bench, "nv_cache_hit_summary_per_model_count")).toEqual([
      'nv_cache_hit_summary_per_model_count{model="m",version="1"} 1',
    ]);
  });
});

describe("summaries", () => {
  it("tell quantiles of the last minute for the quantiles asked for", async () => {
    let latencyNs = MS;
    const metricsConfig = parseMetricsConfig([
      "summary_latencies=true",
      "summary_quantiles=0.5:0.01,0.9:0.01",
    ]);
    const bench = await served({
      models: { m: echoModel() },
      options: { metricsConfig },
      backend: { onExecute: () => ({ kind: "complete", latencyNs }) },
    });
    const summary = (): Promise<readonly string[]> => linesOf(bench, "nv_inference_request_summary_us");
    const labels = 'model="m",version="1"';
    expect(await summary()).toEqual([
      `nv_inference_request_summary_us_count{${labels}} 0`,
      `nv_inference_request_summary_us_sum{${labels}} 0`,
      `nv_inference_request_summary_us{${labels},quantile="0.5"} Nan`,
      `nv_inference_request_summary_us{${labels},quantile="0.9"} Nan`,
    ]);
    for (latencyNs of [MS, MS, MS, MS, MS, MS, MS, MS, 9 * MS, 9 * MS]) {
      send(bench, 1);
      await bench.clock.advance(10 * MS);
    }
    expect(await summary()).toEqual([
      `nv_inference_request_summary_us_count{${labels}} 10`,
      `nv_inference_request_summary_us_sum{${labels}} 26000`,
      `nv_inference_request_summary_us{${labels},quantile="0.5"} 1000`,
      `nv_inference_request_summary_us{${labels},quantile="0.9"} 9000`,
    ]);
    await bench.clock.advance(61e9);
    expect((await summary()).slice(1)).toEqual([
      `nv_inference_request_summary_us_sum{${labels}} 26000`,
      `nv_inference_request_summary_us{${labels},quantile="0.5"} Nan`,
      `nv_inference_request_summary_us{${labels},quantile="0.9"} Nan`,
    ]);
  });
});

describe("the histogram of first responses", () => {
  const metricsConfig = parseMetricsConfig(["histogram_latencies=true"]);
  const LABELS = 'model="m",version="1"';

  it("counts every request once by whole milliseconds, also those that fail", async () => {
    let latencyNs = 0;
    const bench = await served({
      models: { m: echoModel() },
      options: { metricsConfig },
      backend: {
        onExecute: () =>
          latencyNs > 4_000 * MS
            ? { kind: "fail", latencyNs, error: { code: "INTERNAL", message: "no" } }
            : { kind: "complete", latencyNs },
      },
    });
    for (latencyNs of [3.9 * MS, 100.9 * MS, 101 * MS, 5_001 * MS]) {
      send(bench, 1);
      await bench.finish();
    }
    const name = "nv_inference_first_response_histogram_ms";
    expect(await linesOf(bench, name)).toEqual([
      `${name}_count{${LABELS}} 4`,
      `${name}_sum{${LABELS}} 5205`,
      `${name}_bucket{${LABELS},le="100"} 2`,
      `${name}_bucket{${LABELS},le="500"} 3`,
      `${name}_bucket{${LABELS},le="2000"} 3`,
      `${name}_bucket{${LABELS},le="5000"} 3`,
      `${name}_bucket{${LABELS},le="+Inf"} 4`,
    ]);
  });

  it("has the buckets of the model, which are of no use for other families", async () => {
    const control = (family: string, buckets: string): string =>
      `metric_control { metric_identifier { family: "${family}" } histogram_options { buckets: ${buckets} } }`;
    const overrides = [
      control("nv_inference_first_response_histogram_ms", "[ -1, 0.0, 1, 2.5 ]"),
      control("nv_inference_count", "[ 1 ]"),
    ];
    const bench = await served({
      models: { m: echoModel([1], `model_metrics { ${overrides.join(" ")} }`) },
      options: { metricsConfig },
    });
    await bench.infer("m", 1);
    const lines = await linesOf(bench, "nv_inference_first_response_histogram_ms_bucket");
    expect(lines.map((line) => line.replace(/^.*le=/, ""))).toEqual([
      '"-1"} 0',
      '"0"} 1',
      '"1"} 1',
      '"2.5"} 1',
      '"+Inf"} 1',
    ]);
    expect(
      bench.logger.lines.filter((line) => line.level === "warning").map(({ message }) => message),
    ).toEqual([
      "Metric family 'nv_inference_count' in 'metric_identifier' is not a customizable metric in Triton core.",
    ]);
  });
});
