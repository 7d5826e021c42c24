import type { ServerBench, ServerBenchOptions } from "@naiad/testing";
import { createServerBench, echoModel, echoRequest, ensembleModel } from "@naiad/testing";
import { InferenceError, parseMetricsConfig } from "@naiad/protocol";
import parsePrometheusTextFormat from "parse-prometheus-text-format";
import { describe, expect, it } from "vitest";
import { collectMetrics } from "./collect-metrics.ts";
import { writeMetrics } from "./write-metrics.ts";

const { signal } = new AbortController();
const MS = 1_000_000;
const CACHE = { kind: "local", byteSize: 1_000_000 } as const;

async function served(options: ServerBenchOptions): Promise<ServerBench> {
  const bench = createServerBench(options);
  await bench.start();
  const names = Object.keys(options.models ?? {});
  const loads = Promise.all(names.map((name) => bench.load(name)));
  await bench.finish();
  await loads;
  return bench;
}

async function textOf({ server }: ServerBench): Promise<string> {
  return (await server.serverMetrics({}, { signal })).text;
}

/** As a real parser of the format reads them: the text of each value by name and labels. */
async function metricsOf(bench: ServerBench): Promise<ReadonlyMap<string, string>> {
  const metrics = parsePrometheusTextFormat(await textOf(bench)).flatMap((family) =>
    family.metrics.map(({ labels = {}, value = "" }): [string, string] => [
      [family.name, ...Object.entries(labels).map(([name, text]) => `${name}=${text}`)].join(" "),
      value,
    ]),
  );
  return new Map(metrics);
}

/** Values of model `m`, version 1, by name. */
async function valuesOf(
  bench: ServerBench,
  ...names: readonly string[]
): Promise<readonly (string | undefined)[]> {
  const metrics = await metricsOf(bench);
  return names.map((name) => metrics.get(`${name} model=m version=1`));
}

async function linesOf(bench: ServerBench, start: string): Promise<readonly string[]> {
  return (await textOf(bench)).split("\n").filter((line) => line.startsWith(start));
}

/** Requests to the echo model `m`, whose failures are of no interest. */
function send(bench: ServerBench, count: number, more: { readonly signal?: AbortSignal } = {}): void {
  for (let sent = 0; sent < count; sent += 1) bench.infer("m", sent, more).catch(() => undefined);
}

describe("families", () => {
  /** Everything that can be told of models, with what Triton calls it. */
  const FAMILIES: readonly (readonly [name: string, type: string, help: string])[] = [
    ["nv_inference_request_success", "COUNTER", "Number of successful inference requests, all batch sizes"],
    ["nv_inference_request_failure", "COUNTER", "Number of failed inference requests, all batch sizes"],
    ["nv_inference_count", "COUNTER", "Number of inferences performed (does not include cached requests)"],
    [
      "nv_inference_exec_count",
      "COUNTER",
      "Number of model executions performed (does not include cached requests)",
    ],
    [
      "nv_inference_request_duration_us",
      "COUNTER",
      "Cumulative inference request duration in microseconds (includes cached requests)",
    ],
    [
      "nv_inference_queue_duration_us",
      "COUNTER",
      "Cumulative inference queuing duration in microseconds (includes cached requests)",
    ],
    [
      "nv_inference_compute_input_duration_us",
      "COUNTER",
      "Cumulative compute input duration in microseconds (does not include cached requests)",
    ],
    [
      "nv_inference_compute_infer_duration_us",
      "COUNTER",
      "Cumulative compute inference duration in microseconds (does not include cached requests)",
    ],
    [
      "nv_inference_compute_output_duration_us",
      "COUNTER",
      "Cumulative inference compute output duration in microseconds (does not include cached requests)",
    ],
    ["nv_cache_num_hits_per_model", "COUNTER", "Number of cache hits per model"],
    ["nv_cache_hit_duration_per_model", "COUNTER", "Total cache hit duration per model, in microseconds"],
    ["nv_cache_num_misses_per_model", "COUNTER", "Number of cache misses per model"],
    [
      "nv_cache_miss_duration_per_model",
      "COUNTER",
      "Total cache miss (insert+lookup) duration per model, in microseconds",
    ],
    ["naiad_batch_limit_total", "COUNTER", "Number of batches by what kept them from being larger"],
    ["naiad_non_finite_outputs_total", "COUNTER", "Number of outputs in which NaN or an infinity was seen"],
    [
      "naiad_device_readbacks_total",
      "COUNTER",
      "Number of tensors that executions have read from the memory of a GPU",
    ],
    [
      "naiad_device_tensors",
      "GAUGE",
      "Number of outputs that lie in the memory of a GPU for other steps of ensembles",
    ],
    [
      "naiad_instance_replacements_total",
      "COUNTER",
      "Number of times that a lost model instance was replaced",
    ],
    [
      "nv_inference_pending_request_count",
      "GAUGE",
      "Instantaneous number of pending requests awaiting execution per-model.",
    ],
    ["nv_model_load_duration_secs", "GAUGE", "Model load time in seconds"],
    ["naiad_instances", "GAUGE", "Number of model instances by state"],
    [
      "nv_inference_first_response_histogram_ms",
      "HISTOGRAM",
      "Duration from request to first response in milliseconds",
    ],
    [
      "nv_inference_request_summary_us",
      "SUMMARY",
      "Summary of inference request duration in microseconds (includes cached requests)",
    ],
    [
      "nv_inference_queue_summary_us",
      "SUMMARY",
      "Summary of inference queuing duration in microseconds (includes cached requests)",
    ],
    [
      "nv_inference_compute_input_summary_us",
      "SUMMARY",
      "Cumulative compute input duration in microseconds (does not include cached requests)",
    ],
    [
      "nv_inference_compute_infer_summary_us",
      "SUMMARY",
      "Cumulative compute inference duration in microseconds (does not include cached requests)",
    ],
    [
      "nv_inference_compute_output_summary_us",
      "SUMMARY",
      "Cumulative inference compute output duration in microseconds (does not include cached requests)",
    ],
    [
      "nv_cache_hit_summary_per_model",
      "SUMMARY",
      "Summary of cache hit counts/durations per model, in microseconds.",
    ],
    [
      "nv_cache_miss_summary_per_model",
      "SUMMARY",
      "Summary of cache miss counts/durations per model, in microseconds.",
    ],
    ["nv_cache_util", "GAUGE", "Cache utilization [0.0 - 1.0]"],
    ["nv_cache_num_entries", "GAUGE", "Number of responses stored in response cache"],
    ["nv_cache_num_hits", "GAUGE", "Number of cache hits in response cache"],
    ["nv_cache_num_misses", "GAUGE", "Number of cache misses in response cache"],
    ["nv_cache_num_lookups", "GAUGE", "Number of cache lookups in response cache"],
    ["nv_cache_num_evictions", "GAUGE", "Number of cache evictions in response cache"],
    ["nv_cache_lookup_duration", "GAUGE", "Total cache lookup duration (hit and miss), in microseconds"],
    ["nv_cache_insertion_duration", "GAUGE", "Total cache insertion duration, in microseconds"],
    ["naiad_inflight_bytes", "GAUGE", "Bytes of requests accepted and not yet answered"],
    ["naiad_max_inflight_bytes", "GAUGE", "Bytes of requests beyond which new ones are refused"],
  ];

  const EVERYTHING = {
    cacheConfig: CACHE,
    metricsConfig: parseMetricsConfig(["summary_latencies=true", "histogram_latencies=true"]),
  };
  const MODELS = { m: echoModel(), cached: echoModel([1], "response_cache { enable: true }") };

  it("are Triton's by name, type and help, and some of our own", async () => {
    const bench = await served({ models: MODELS, options: EVERYTHING });
    const families = parsePrometheusTextFormat(await textOf(bench));
    expect(families.map(({ name, type, help }) => [name, type, help])).toEqual(FAMILIES);
  });

  it("are there with zeros as soon as a model is loaded", async () => {
    const bench = await served({ models: { m: echoModel() } });
    const metrics = await metricsOf(bench);
    expect(metrics.get("nv_inference_request_success model=m version=1")).toBe("0");
    for (const [key, value] of metrics) {
      const isSet = key.startsWith("naiad_instances") || key.endsWith("inflight_bytes");
      if (!isSet) expect([key, value]).toEqual([key, "0"]);
    }
  });

  it("tell only what was asked for: no summaries, no histogram, nothing of a cache", async () => {
    const bench = await served({ models: MODELS });
    const text = await textOf(bench);
    expect(text).toContain("nv_inference_request_duration_us{");
    expect(text).not.toMatch(/summary|histogram|nv_cache/);
  });

  it("lose sums of durations alone without counter_latencies", async () => {
    const metricsConfig = parseMetricsConfig(["counter_latencies=false"]);
    const options = { cacheConfig: CACHE, metricsConfig };
    const bench = await served({ models: { m: echoModel([1], "response_cache { enable: true }") }, options });
    await bench.infer("m", 1);
    await bench.infer("m", 1);
    expect(await textOf(bench)).not.toMatch(/_duration_us|_duration_per_model/);
    expect(
      await valuesOf(
        bench,
        "nv_inference_request_success",
        "nv_inference_count",
        "nv_cache_num_hits_per_model",
      ),
    ).toEqual(["2", "1", "1"]);
  });

  it("are refused where metrics are switched off", async () => {
    const bench = await served({ models: {}, options: { allowMetrics: false } });
    await expect(bench.server.serverMetrics({}, { signal })).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: "metrics not supported",
    });
  });
});

describe("labels", () => {
  it("name model and version, one metric for each version that is served", async () => {
    const bench = createServerBench({ models: { m: echoModel([1, 3], "version_policy { all {} }") } });
    await bench.start();
    expect(await textOf(bench)).not.toContain("model=");
    await bench.load("m");
    expect(await linesOf(bench, "nv_inference_count")).toEqual([
      'nv_inference_count{model="m",version="1"} 0',
      'nv_inference_count{model="m",version="3"} 0',
    ]);
    await bench.unload("m");
    expect(await textOf(bench)).not.toContain("model=");
  });

  it("carry the model's metric_tags with an underscore in front", async () => {
    const tags = `
      metric_tags { key: "team" value: "a \\"b\\"" }
      metric_tags { key: "cost-center" value: "7" }
      metric_tags { key: "_odd" value: "" }
    `;
    const bench = await served({ models: { m: echoModel([1], tags) } });
    expect(await linesOf(bench, "nv_inference_exec_count")).toEqual([
      'nv_inference_exec_count{_cost_center="7",_odd="",_team="a \\"b\\"",model="m",version="1"} 0',
    ]);
    const label = '_team=a "b"';
    expect(
      (await metricsOf(bench)).get(`nv_inference_exec_count _cost_center=7 _odd= ${label} model=m version=1`),
    ).toBe("0");
  });
});

describe("counters", () => {
  it("count requests, rows and executions, and add up durations in whole microseconds", async () => {
    const times = { computeInputNs: 1_600, computeInferNs: 2_000_900, computeOutputNs: 999 };
    const bench = await served({
      models: { m: echoModel([1], "dynamic_batching { max_queue_delay_microseconds: 3000 }") },
      backend: { latencyNs: 2 * MS, onExecute: () => ({ kind: "complete", times }) },
    });
    send(bench, 2);
    await bench.finish();
    expect(
      await valuesOf(
        bench,
        "nv_inference_request_success",
        "nv_inference_count",
        "nv_inference_exec_count",
        "nv_inference_request_duration_us",
        "nv_inference_queue_duration_us",
        "nv_inference_compute_input_duration_us",
        "nv_inference_compute_infer_duration_us",
        "nv_inference_compute_output_duration_us",
      ),
    ).toEqual(["2", "2", "1", "10000", "6000", "3", "4001", "1"]);
  });

  it("begin anew when the model is loaded anew", async () => {
    const bench = await served({ models: { m: echoModel() } });
    await bench.infer("m", 1);
    expect(await valuesOf(bench, "nv_inference_count")).toEqual(["1"]);
    await bench.unload("m");
    await bench.load("m");
    expect(await valuesOf(bench, "nv_inference_count")).toEqual(["0"]);
  });

  it("tell failures by their reason, and nothing of what was refused at once", async () => {
    const policy = "default_timeout_microseconds: 1000 max_queue_size: 2";
    const bench = await served({
      models: { m: echoModel([1], `dynamic_batching { default_queue_policy { ${policy} } }`) },
      backend: {
        latencyNs: 5 * MS,
        onExecute: ({ requestIds }) =>
          requestIds.includes("bad")
            ? { kind: "fail", error: { code: "INTERNAL", message: "no" } }
            : { kind: "complete" },
      },
    });
    const failures = async (): Promise<object> => {
      const metrics = await metricsOf(bench);
      const reasons = ["REJECTED", "CANCELED", "BACKEND", "OTHER"];
      return Object.fromEntries(
        reasons.map((reason) => [
          reason,
          metrics.get(`nv_inference_request_failure model=m reason=${reason} version=1`),
        ]),
      );
    };
    expect(await failures()).toEqual({ REJECTED: "0", CANCELED: "0", BACKEND: "0", OTHER: "0" });

    bench.infer("m", 1, { id: "bad" }).catch(() => undefined);
    // It waits too long for the only instance; of those behind it one does not fit in the queue.
    send(bench, 2);
    await expect(bench.infer("m", 1)).rejects.toThrow("Exceeds maximum queue size");
    await bench.finish();
    expect(await failures()).toEqual({ REJECTED: "2", CANCELED: "0", BACKEND: "1", OTHER: "0" });

    const gone = new AbortController();
    send(bench, 1, { signal: gone.signal });
    gone.abort();
    await bench.finish();
    const invalid = { ...echoRequest("m", 1), inputs: [] };
    await expect(bench.server.modelInfer(invalid, { signal })).rejects.toThrow();
    expect(await failures()).toEqual({ REJECTED: "2", CANCELED: "1", BACKEND: "1", OTHER: "0" });
    expect(await valuesOf(bench, "nv_inference_request_success")).toEqual(["0"]);
  });

  it("tell apart what failed in a backend and what never came to one", async () => {
    const gone = new InferenceError("INTERNAL", "no more of them");
    const bench = await served({
      models: { m: echoModel() },
      backend: {
        onCreate: (_placement, generation) =>
          generation === 0 ? { kind: "create" } : { kind: "fail", error: gone },
        onExecute: () => ({ kind: "hang" }),
      },
    });
    send(bench, 3);
    await bench.clock.settle();
    bench.backend.lose("m_0");
    await bench.finish();
    const metrics = await metricsOf(bench);
    const failures = ["BACKEND", "OTHER"].map((reason) =>
      metrics.get(`nv_inference_request_failure model=m reason=${reason} version=1`),
    );
    expect(failures).toEqual(["1", "2"]);
  });

  it("tell what limited batches", async () => {
    const bench = await served({
      models: { m: echoModel([1], "dynamic_batching {}") },
      backend: { latencyNs: MS },
    });
    send(bench, 7);
    await bench.finish();
    const metrics = await metricsOf(bench);
    const limits = ["no_delay", "full", "instance_busy", "shape"].map((reason) =>
      metrics.get(`naiad_batch_limit_total model=m reason=${reason} version=1`),
    );
    expect(limits).toEqual(["1", "1", "1", "0"]);
  });

  it("tell instances by state, replacements and outputs that are no numbers", async () => {
    const bench = await served({
      models: { m: echoModel([1], "instance_group { count: 2 kind: KIND_CPU }") },
      backend: { onExecute: () => ({ kind: "complete", nonFiniteOutputs: 3 }) },
    });
    const instances = async (): Promise<readonly (string | undefined)[]> => {
      const metrics = await metricsOf(bench);
      const states = ["loading", "ready", "lost"];
      return states.map((state) => metrics.get(`naiad_instances model=m state=${state} version=1`));
    };
    expect(await instances()).toEqual(["0", "2", "0"]);
    await bench.infer("m", 1);
    bench.backend.lose("m_0_1");
    await bench.finish();
    expect(await instances()).toEqual(["0", "2", "0"]);
    const metrics = await metricsOf(bench);
    expect(metrics.get("naiad_non_finite_outputs_total instance=m_0_0 model=m version=1")).toBe("3");
    expect(metrics.get("naiad_instance_replacements_total instance=m_0_1 model=m version=1")).toBe("1");
    expect(metrics.get("naiad_instance_replacements_total instance=m_0_0 model=m version=1")).toBe("0");
  });
});

describe("tensors on a device", () => {
  it("are told, and those that were read from there", async () => {
    const bench = await served({
      models: {
        a: echoModel(),
        b: echoModel(),
        e: ensembleModel({
          inputs: "x INT32 [1]",
          outputs: "y INT32 [1]",
          maxBatchSize: 4,
          steps: ["a: x=x > y=t", "b: x=t > y=y"],
        }),
      },
      backend: { deviceWorkerOf: () => "gpu:0", latencyNs: MS },
    });
    await bench.load("e");
    const told = async (): Promise<readonly (string | undefined)[]> => {
      const metrics = await metricsOf(bench);
      return ["naiad_device_tensors", "naiad_device_readbacks_total"].flatMap((name) =>
        ["a", "b"].map((model) => metrics.get(`${name} instance=${model}_0 model=${model} version=1`)),
      );
    };
    const answer = bench.infer("e", 7);
    await bench.until(() => bench.backend.executions.length === 1);
    await bench.clock.advance(MS);
    expect(await told()).toEqual(["1", "0", "0", "0"]);
    await bench.finish();
    await answer;
    expect(await told()).toEqual(["0", "0", "0", "1"]);
  });
});

describe("pending requests", () => {
  const pending = (bench: ServerBench): Promise<readonly (string | undefined)[]> =>
    valuesOf(bench, "nv_inference_pending_request_count");

  it("are those that wait behind the one that executes", async () => {
    const bench = await served({ models: { m: echoModel() }, backend: { latencyNs: 2 * MS } });
    expect(await pending(bench)).toEqual(["0"]);
    send(bench, 10);
    for (let left = 9; left >= 0; left -= 1) {
      await bench.clock.settle();
      expect(await pending(bench)).toEqual([String(left)]);
      await bench.clock.advance(2 * MS);
    }
    expect(await pending(bench)).toEqual(["0"]);
  });

  it("become fewer by a batch at a time where requests share executions", async () => {
    const bench = await served({
      models: { m: echoModel([1], "dynamic_batching { max_queue_delay_microseconds: 1000 }") },
      backend: { latencyNs: 5 * MS },
    });
    send(bench, 10);
    await bench.clock.advance(MS);
    expect(await pending(bench)).toEqual(["6"]);
    await bench.clock.advance(5 * MS);
    expect(await pending(bench)).toEqual(["2"]);
    await bench.clock.advance(5 * MS);
    expect(await pending(bench)).toEqual(["0"]);
    await bench.finish();
  });

  it("are not those that were refused, cancelled or executed before they are answered in order", async () => {
    const bench = await served({
      models: {
        m: echoModel(
          [1],
          "instance_group { count: 2 kind: KIND_CPU } dynamic_batching { preserve_ordering: true " +
            "default_queue_policy { max_queue_size: 3 } }",
        ),
      },
      backend: {
        onExecute: ({ instanceName }) => ({
          kind: "complete",
          latencyNs: instanceName === "m_0_0" ? 10 * MS : MS,
        }),
      },
    });
    send(bench, 2);
    const gone = new AbortController();
    send(bench, 4, { signal: gone.signal });
    expect(await pending(bench)).toEqual(["3"]);
    gone.abort();
    expect(await pending(bench)).toEqual(["0"]);
    await bench.clock.advance(2 * MS);
    expect(await pending(bench)).toEqual(["0"]);
    await bench.finish();
    expect(await valuesOf(bench, "nv_inference_request_success")).toEqual(["2"]);
  });

  it("do not come back when an execution is lost and repeated", async () => {
    let isFirst = true;
    const bench = await served({
      models: { m: echoModel() },
      backend: {
        latencyNs: MS,
        onExecute: () => {
          const answer = isFirst
            ? ({ kind: "lose", culprit: true } as const)
            : ({ kind: "complete" } as const);
          isFirst = false;
          return answer;
        },
      },
    });
    send(bench, 2);
    await bench.clock.settle();
    expect(await pending(bench)).toEqual(["1"]);
    await bench.finish();
    expect(await pending(bench)).toEqual(["0"]);
    expect(await valuesOf(bench, "nv_inference_request_success")).toEqual(["2"]);
  });
});

describe("load time", () => {
  it("is how long the model took until it could serve", async () => {
    const bench = await served({
      models: { m: echoModel() },
      backend: { onCreate: () => ({ kind: "create", latencyNs: 1.5e9 }) },
    });
    expect(await valuesOf(bench, "nv_model_load_duration_secs")).toEqual(["1.5"]);
    await bench.infer("m", 1);
    expect(await valuesOf(bench, "nv_model_load_duration_secs")).toEqual(["1.5"]);
  });
});

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

describe("the machine", () => {
  const write = (machine: object): readonly string[] =>
    writeMetrics(collectMetrics({ versions: [], latencyCounters: "told", machine }))
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"));

  it("is told of as far as its values are known", () => {
    expect(write({})).toEqual([]);
    expect(write({ cpu: { utilization: 0.25, memoryTotalBytes: 100 }, gpus: [{ uuid: "GPU-1" }] })).toEqual([
      "nv_cpu_utilization 0.25",
      "nv_cpu_memory_total_bytes 100",
    ]);
    const gpu = {
      uuid: "GPU-1",
      utilization: 0.5,
      memoryTotalBytes: 10,
      memoryUsedBytes: 4,
      powerUsageWatts: 30.5,
      powerLimitWatts: 70,
      energyJoules: 12,
    };
    expect(write({ gpus: [gpu], cpu: { memoryUsedBytes: 1 } })).toEqual([
      'nv_energy_consumption{gpu_uuid="GPU-1"} 12',
      'nv_gpu_utilization{gpu_uuid="GPU-1"} 0.5',
      'nv_gpu_memory_total_bytes{gpu_uuid="GPU-1"} 10',
      'nv_gpu_memory_used_bytes{gpu_uuid="GPU-1"} 4',
      'nv_gpu_power_usage{gpu_uuid="GPU-1"} 30.5',
      'nv_gpu_power_limit{gpu_uuid="GPU-1"} 70',
      "nv_cpu_memory_used_bytes 1",
    ]);
  });
});
