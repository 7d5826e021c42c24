import type { GpuAdapter } from "@naiad/protocol";
import type { MetricFamily } from "./metric-family.ts";
import type { PlaceMetrics, WorkerMetrics } from "./metric-sources.ts";
import { WORKER_KINDS } from "./metric-sources.ts";
import { gauge } from "./single-gauge.ts";

/** What the platform says of its GPUs, as labels of a metric that is 1. */
export function adapterFamilies(adapters: readonly GpuAdapter[] = []): readonly MetricFamily[] {
  return [
    {
      kind: "gauge",
      name: "naiad_gpu_info",
      help: "GPU adapters that the server may use",
      metrics: adapters.map(({ architecture, description, features, index, isFallback, vendor }) => ({
        labels: {
          adapter: String(index),
          vendor,
          architecture,
          description,
          fallback: String(isFallback),
          fp16: String(features.includes("shader-f16")),
          subgroups: String(features.includes("subgroups")),
        },
        value: 1,
      })),
    },
  ];
}

export function placeFamilies(place: PlaceMetrics | undefined): readonly MetricFamily[] {
  if (place === undefined) return [];
  const { storage, workers, workerStarts } = place;
  return [
    {
      kind: "counter",
      name: "naiad_worker_starts_total",
      help: "Number of workers that were started, by what they are for",
      metrics: WORKER_KINDS.map((kind) => ({ labels: { kind }, value: workerStarts[kind] })),
    },
    {
      kind: "gauge",
      name: "naiad_workers",
      help: "Number of workers that live, by what they are for",
      metrics: WORKER_KINDS.map((kind) => ({
        labels: { kind },
        value: workers.filter((worker) => worker.kind === kind).length,
      })),
    },
    ofWorkers(
      "naiad_wasm_memory_bytes",
      "Bytes of the WebAssembly memories of a worker",
      workers,
      "wasmBytes",
    ),
    ofWorkers(
      "naiad_gpu_buffer_bytes",
      "Bytes of the buffers that a worker holds on its GPU",
      workers.filter(({ kind }) => kind === "gpu"),
      "gpuBufferBytes",
    ),
    gauge("naiad_storage_used_bytes", "Bytes that the origin of the model store takes", storage?.usedBytes),
    gauge(
      "naiad_storage_quota_bytes",
      "Bytes that the origin of the model store may take",
      storage?.quotaBytes,
    ),
  ];
}

/** Workers of one name are told as one: while one takes the place of another both may be there. */
function ofWorkers(
  name: string,
  help: string,
  workers: readonly WorkerMetrics[],
  key: "gpuBufferBytes" | "wasmBytes",
): MetricFamily {
  const sums = new Map<string, number>();
  for (const worker of workers) sums.set(worker.name, (sums.get(worker.name) ?? 0) + worker[key]);
  return {
    kind: "gauge",
    name,
    help,
    metrics: [...sums].map(([worker, value]) => ({ labels: { worker }, value })),
  };
}
