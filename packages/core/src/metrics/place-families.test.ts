import type { GpuAdapter } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { collectMetrics } from "./collect-metrics.ts";
import type { MetricSources } from "./metric-sources.ts";
import { writeMetrics } from "./write-metrics.ts";

const NOTHING: MetricSources = { versions: [], latencyCounters: "told" };

const values = (sources: Partial<MetricSources>): readonly string[] =>
  writeMetrics(collectMetrics({ ...NOTHING, ...sources }))
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));

describe("adapters", () => {
  const ADAPTER: GpuAdapter = {
    index: 0,
    vendor: "nvidia",
    architecture: "ada-lovelace",
    description: 'NVIDIA "L4"',
    isFallback: false,
    features: ["shader-f16", "timestamp-query"],
    maxBufferSize: 1,
    maxStorageBufferBindingSize: 1,
    maxStorageBuffersPerShaderStage: 8,
  };

  it("are labels of a metric that is 1", () => {
    const software = { ...ADAPTER, index: 1, description: "", isFallback: true, features: ["subgroups"] };
    expect(values({ adapters: [ADAPTER, software] })).toEqual([
      'naiad_gpu_info{adapter="0",architecture="ada-lovelace",description="NVIDIA \\"L4\\"",fallback="false",' +
        'fp16="true",subgroups="false",vendor="nvidia"} 1',
      'naiad_gpu_info{adapter="1",architecture="ada-lovelace",description="",fallback="true",' +
        'fp16="false",subgroups="true",vendor="nvidia"} 1',
    ]);
  });

  it("are told of where there are any", () => {
    expect(values({ adapters: [] })).toEqual([]);
    expect(values({})).toEqual([]);
  });
});

describe("the place that the server runs in", () => {
  const STARTS = { cpu: 4, gpu: 1, javascript: 0 };

  it("is told by its workers: how many, how many there were, and what they take", () => {
    const workers = [
      { kind: "cpu", name: "cpu:m:1:m_0", wasmBytes: 100, gpuBufferBytes: 0 },
      { kind: "gpu", name: "gpu:0", wasmBytes: 200, gpuBufferBytes: 3000 },
    ] as const;
    expect(values({ place: { workers, workerStarts: STARTS } })).toEqual([
      'naiad_worker_starts_total{kind="cpu"} 4',
      'naiad_worker_starts_total{kind="gpu"} 1',
      'naiad_worker_starts_total{kind="javascript"} 0',
      'naiad_workers{kind="cpu"} 1',
      'naiad_workers{kind="gpu"} 1',
      'naiad_workers{kind="javascript"} 0',
      'naiad_wasm_memory_bytes{worker="cpu:m:1:m_0"} 100',
      'naiad_wasm_memory_bytes{worker="gpu:0"} 200',
      'naiad_gpu_buffer_bytes{worker="gpu:0"} 3000',
    ]);
  });

  it("adds up workers of one name, which would be one metric twice", () => {
    const worker = { kind: "gpu", name: "gpu:0", wasmBytes: 200, gpuBufferBytes: 3000 } as const;
    const lines = values({ place: { workers: [worker, worker], workerStarts: STARTS } });
    expect(lines.filter((line) => line.includes("gpu:0"))).toEqual([
      'naiad_wasm_memory_bytes{worker="gpu:0"} 400',
      'naiad_gpu_buffer_bytes{worker="gpu:0"} 6000',
    ]);
  });

  it("tells the storage where the platform does", () => {
    const storage = { usedBytes: 5, quotaBytes: 7 };
    const lines = values({ place: { workers: [], workerStarts: STARTS, storage } });
    expect(lines.filter((line) => line.startsWith("naiad_storage"))).toEqual([
      "naiad_storage_used_bytes 5",
      "naiad_storage_quota_bytes 7",
    ]);
  });
});
