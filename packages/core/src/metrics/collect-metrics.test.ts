import { createServerBench, echoModel } from "@naiad/testing";
import { parseMetricsConfig } from "@naiad/protocol";
import parsePrometheusTextFormat from "parse-prometheus-text-format";
import { describe, expect, it } from "vitest";
import { CACHE, linesOf, metricsOf, served, signal, textOf, valuesOf } from "../../test/metrics-bench.ts";
import { collectMetrics } from "./collect-metrics.ts";
import { createCustomMetrics } from "./custom-metrics.ts";
import { writeMetrics } from "./write-metrics.ts";

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
      "naiad_device_tensor_bytes",
      "GAUGE",
      "Bytes of the outputs that lie in the memory of a GPU for other steps of ensembles",
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
    [
      "naiad_pending_request_bytes",
      "GAUGE",
      "Bytes of the inputs of pending requests awaiting execution per-model",
    ],
    ["naiad_sequences", "GAUGE", "Number of sequences that have begun and not ended"],
    ["naiad_sequence_state_bytes", "GAUGE", "Bytes of the implicit state of sequences"],
    ["nv_model_load_duration_secs", "GAUGE", "Model load time in seconds"],
    ["naiad_instances", "GAUGE", "Number of model instances by state"],
    ["naiad_instance_info", "GAUGE", "What the instances that are ready run on"],
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
    ["naiad_gpu_info", "GAUGE", "GPU adapters that the server may use"],
    ["naiad_worker_starts_total", "COUNTER", "Number of workers that were started, by what they are for"],
    ["naiad_workers", "GAUGE", "Number of workers that live, by what they are for"],
    ["naiad_wasm_memory_bytes", "GAUGE", "Bytes of the WebAssembly memories of a worker"],
    ["naiad_gpu_buffer_bytes", "GAUGE", "Bytes of the buffers that a worker holds on its GPU"],
    ["naiad_storage_used_bytes", "GAUGE", "Bytes that the origin of the model store takes"],
    ["naiad_storage_quota_bytes", "GAUGE", "Bytes that the origin of the model store may take"],
    ["nv_energy_consumption", "COUNTER", "GPU energy consumption in joules since the Triton Server started"],
    ["nv_gpu_utilization", "GAUGE", "GPU utilization rate [0.0 - 1.0)"],
    ["nv_gpu_memory_total_bytes", "GAUGE", "GPU total memory, in bytes"],
    ["nv_gpu_memory_used_bytes", "GAUGE", "GPU used memory, in bytes"],
    ["nv_gpu_power_usage", "GAUGE", "GPU power usage in watts"],
    ["nv_gpu_power_limit", "GAUGE", "GPU power management limit in watts"],
    ["nv_cpu_utilization", "GAUGE", "CPU utilization rate [0.0 - 1.0]"],
    ["nv_cpu_memory_total_bytes", "GAUGE", "CPU total memory (RAM), in bytes"],
    ["nv_cpu_memory_used_bytes", "GAUGE", "CPU used memory (RAM), in bytes"],
    ["naiad_host_restarts_total", "COUNTER", "Number of times that what the server runs in was started anew"],
  ];

  const ADAPTER = {
    index: 0,
    vendor: "amd",
    architecture: "rdna-3",
    description: "",
    isFallback: false,
    features: [],
    maxBufferSize: 1,
    maxStorageBufferBindingSize: 1,
    maxStorageBuffersPerShaderStage: 8,
  };
  const EVERYTHING = {
    cacheConfig: CACHE,
    metricsConfig: parseMetricsConfig(["summary_latencies=true", "histogram_latencies=true"]),
  };
  const MODELS = { m: echoModel(), cached: echoModel([1], "response_cache { enable: true }") };

  it("are Triton's by name, type and help, and some of our own", async () => {
    const gpu = { uuid: "GPU-1", utilization: 0, memoryTotalBytes: 0, memoryUsedBytes: 0 };
    const power = { powerUsageWatts: 0, powerLimitWatts: 0, energyJoules: 0 };
    const bench = await served({
      models: { ...MODELS, s: echoModel([1], "sequence_batching {}") },
      options: EVERYTHING,
      capabilities: { gpus: [ADAPTER] },
      placeMetrics: () => ({
        workers: [{ kind: "gpu", name: "gpu:0", wasmBytes: 0, gpuBufferBytes: 0 }],
        workerStarts: { cpu: 0, gpu: 1, javascript: 0 },
        storage: { usedBytes: 0, quotaBytes: 0 },
      }),
      machineMetrics: () => ({
        hostRestarts: 0,
        cpu: { utilization: 0, memoryTotalBytes: 0, memoryUsedBytes: 0 },
        gpus: [{ ...gpu, ...power }],
      }),
    });
    const families = parsePrometheusTextFormat(await textOf(bench));
    expect(families.map(({ name, type, help }) => [name, type, help])).toEqual(FAMILIES);
    const custom = createCustomMetrics();
    for (const { name } of families) {
      const declare = (): void => {
        custom.declare({ name, description: "", kind: "counter" });
      };
      expect(declare).toThrow("of the server's own metrics");
    }
  });

  it("are there with zeros as soon as a model is loaded", async () => {
    const bench = await served({ models: { m: echoModel() } });
    const metrics = await metricsOf(bench);
    expect(metrics.get("nv_inference_request_success model=m version=1")).toBe("0");
    for (const [key, value] of metrics) {
      const isSet = key.startsWith("naiad_instance") || key.endsWith("inflight_bytes");
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
