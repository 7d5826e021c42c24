import type { InferStatistics } from "@naiad/protocol";
import type { Labels, MetricFamily } from "./metric-family.ts";
import type { SummaryName } from "./model-latencies.ts";
import { FIRST_RESPONSE_HISTOGRAM } from "./model-latencies.ts";
import type { VersionView } from "./version-view.ts";

export interface ModelFamilyOptions {
  readonly latencyCounters: "told" | "left out";
  readonly responseCache: "there" | "none";
}

interface Reading {
  readonly value: number;
  /** Beside those of the version. */
  readonly labels?: Labels;
}

interface NumberFamily {
  readonly kind: "counter" | "gauge";
  readonly name: string;
  readonly help: string;
  /** Only with latency counters. */
  readonly isLatency?: true;
  /** Only for models with a response cache. */
  readonly isOfCache?: true;
  readonly read: (view: VersionView) => readonly Reading[];
}

/** Families of models: Triton's, names and help texts to the letter, then ours. In Triton's order of kinds. */
export function modelFamilies(
  views: readonly VersionView[],
  { latencyCounters, responseCache }: ModelFamilyOptions,
): readonly MetricFamily[] {
  const cached = responseCache === "there" ? views.filter(({ asksForCache }) => asksForCache) : [];
  const numbers = NUMBER_FAMILIES.filter(({ isLatency }) => latencyCounters === "told" || !isLatency);
  return [
    ...numbers.map(({ kind, name, help, isOfCache, read }): MetricFamily => ({
      kind,
      name,
      help,
      metrics: (isOfCache === true ? cached : views).flatMap((view) =>
        read(view).map(({ value, labels }) => ({ labels: { ...view.labels, ...labels }, value })),
      ),
    })),
    {
      kind: "histogram",
      name: FIRST_RESPONSE_HISTOGRAM,
      help: "Duration from request to first response in milliseconds",
      metrics: views.flatMap(({ labels, firstResponses }) =>
        firstResponses === undefined ? [] : [{ labels, ...firstResponses }],
      ),
    },
    ...SUMMARY_FAMILIES.map(({ key, name, help }): MetricFamily => ({
      kind: "summary",
      name,
      help,
      metrics: views.flatMap(({ labels, summaries }) => {
        const summary = summaries[key];
        return summary === undefined ? [] : [{ labels, ...summary }];
      }),
    })),
  ];
}

const NUMBER_FAMILIES: readonly NumberFamily[] = [
  {
    kind: "counter",
    name: "nv_inference_request_success",
    help: "Number of successful inference requests, all batch sizes",
    read: count("success"),
  },
  {
    kind: "counter",
    name: "nv_inference_request_failure",
    help: "Number of failed inference requests, all batch sizes",
    read: ({ details }) => byLabel("reason", details.failures),
  },
  {
    kind: "counter",
    name: "nv_inference_count",
    help: "Number of inferences performed (does not include cached requests)",
    read: ({ statistics }) => [{ value: statistics.inference_count }],
  },
  {
    kind: "counter",
    name: "nv_inference_exec_count",
    help: "Number of model executions performed (does not include cached requests)",
    read: ({ statistics }) => [{ value: statistics.execution_count }],
  },
  {
    kind: "counter",
    name: "nv_inference_request_duration_us",
    help: "Cumulative inference request duration in microseconds (includes cached requests)",
    isLatency: true,
    read: microseconds("success"),
  },
  {
    kind: "counter",
    name: "nv_inference_queue_duration_us",
    help: "Cumulative inference queuing duration in microseconds (includes cached requests)",
    isLatency: true,
    read: microseconds("queue"),
  },
  {
    kind: "counter",
    name: "nv_inference_compute_input_duration_us",
    help: "Cumulative compute input duration in microseconds (does not include cached requests)",
    isLatency: true,
    read: microseconds("compute_input"),
  },
  {
    kind: "counter",
    name: "nv_inference_compute_infer_duration_us",
    help: "Cumulative compute inference duration in microseconds (does not include cached requests)",
    isLatency: true,
    read: microseconds("compute_infer"),
  },
  {
    kind: "counter",
    name: "nv_inference_compute_output_duration_us",
    help: "Cumulative inference compute output duration in microseconds (does not include cached requests)",
    isLatency: true,
    read: microseconds("compute_output"),
  },
  {
    kind: "counter",
    name: "nv_cache_num_hits_per_model",
    help: "Number of cache hits per model",
    isOfCache: true,
    read: count("cache_hit"),
  },
  {
    kind: "counter",
    name: "nv_cache_hit_duration_per_model",
    help: "Total cache hit duration per model, in microseconds",
    isLatency: true,
    isOfCache: true,
    read: microseconds("cache_hit"),
  },
  {
    kind: "counter",
    name: "nv_cache_num_misses_per_model",
    help: "Number of cache misses per model",
    isOfCache: true,
    read: count("cache_miss"),
  },
  {
    kind: "counter",
    name: "nv_cache_miss_duration_per_model",
    help: "Total cache miss (insert+lookup) duration per model, in microseconds",
    isLatency: true,
    isOfCache: true,
    read: microseconds("cache_miss"),
  },
  {
    kind: "counter",
    name: "naiad_batch_limit_total",
    help: "Number of batches by what kept them from being larger",
    read: ({ details }) => byLabel("reason", details.batchLimits),
  },
  {
    kind: "counter",
    name: "naiad_non_finite_outputs_total",
    help: "Number of outputs in which NaN or an infinity was seen",
    read: ({ instances }) =>
      instances.map(({ instanceName, nonFiniteOutputs = 0 }) => ({
        value: nonFiniteOutputs,
        labels: { instance: instanceName },
      })),
  },
  {
    kind: "counter",
    name: "naiad_device_readbacks_total",
    help: "Number of tensors that executions have read from the memory of a GPU",
    read: ({ instances }) =>
      instances.map(({ instanceName, readbacks = 0 }) => ({
        value: readbacks,
        labels: { instance: instanceName },
      })),
  },
  {
    kind: "gauge",
    name: "naiad_device_tensors",
    help: "Number of outputs that lie in the memory of a GPU for other steps of ensembles",
    read: ({ instances }) =>
      instances.map(({ instanceName, deviceTensors = 0 }) => ({
        value: deviceTensors,
        labels: { instance: instanceName },
      })),
  },
  {
    kind: "gauge",
    name: "naiad_device_tensor_bytes",
    help: "Bytes of the outputs that lie in the memory of a GPU for other steps of ensembles",
    read: ({ instances }) =>
      instances.map(({ instanceName, deviceBytes = 0 }) => ({
        value: deviceBytes,
        labels: { instance: instanceName },
      })),
  },
  {
    kind: "counter",
    name: "naiad_instance_replacements_total",
    help: "Number of times that a lost model instance was replaced",
    read: ({ instances }) =>
      instances.map(({ instanceName, replacements }) => ({
        value: replacements,
        labels: { instance: instanceName },
      })),
  },
  {
    kind: "gauge",
    name: "nv_inference_pending_request_count",
    help: "Instantaneous number of pending requests awaiting execution per-model.",
    read: ({ pending }) => [{ value: pending.value }],
  },
  {
    kind: "gauge",
    name: "naiad_pending_request_bytes",
    help: "Bytes of the inputs of pending requests awaiting execution per-model",
    read: ({ pending }) => [{ value: pending.bytes }],
  },
  {
    kind: "gauge",
    name: "naiad_sequences",
    help: "Number of sequences that have begun and not ended",
    read: ({ keptStates }) => (keptStates === undefined ? [] : [{ value: keptStates.sequences }]),
  },
  {
    kind: "gauge",
    name: "naiad_sequence_state_bytes",
    help: "Bytes of the implicit state of sequences",
    read: ({ keptStates }) => (keptStates === undefined ? [] : [{ value: keptStates.bytes }]),
  },
  {
    kind: "gauge",
    name: "nv_model_load_duration_secs",
    help: "Model load time in seconds",
    read: ({ loadDurationNs }) => [{ value: loadDurationNs / 1e9 }],
  },
  {
    kind: "gauge",
    name: "naiad_instances",
    help: "Number of model instances by state",
    read: ({ instances }) => {
      const states = { loading: 0, ready: 0, lost: 0 };
      for (const { state } of instances) states[state] += 1;
      return byLabel("state", states);
    },
  },
  {
    kind: "gauge",
    name: "naiad_instance_info",
    help: "What the instances that are ready run on",
    read: ({ instances }) =>
      instances.flatMap(({ device, instanceName }) =>
        device === undefined
          ? []
          : {
              value: 1,
              labels: {
                instance: instanceName,
                execution_provider: device.executionProvider,
                build: device.build,
                adapter: device.adapter ?? "",
                threads: String(device.threads),
              },
            },
      ),
  },
];

interface SummaryFamily {
  readonly key: SummaryName;
  readonly name: string;
  readonly help: string;
}

const SUMMARY_FAMILIES: readonly SummaryFamily[] = [
  {
    key: "request",
    name: "nv_inference_request_summary_us",
    help: "Summary of inference request duration in microseconds (includes cached requests)",
  },
  {
    key: "queue",
    name: "nv_inference_queue_summary_us",
    help: "Summary of inference queuing duration in microseconds (includes cached requests)",
  },
  {
    key: "computeInput",
    name: "nv_inference_compute_input_summary_us",
    help: "Cumulative compute input duration in microseconds (does not include cached requests)",
  },
  {
    key: "computeInfer",
    name: "nv_inference_compute_infer_summary_us",
    help: "Cumulative compute inference duration in microseconds (does not include cached requests)",
  },
  {
    key: "computeOutput",
    name: "nv_inference_compute_output_summary_us",
    help: "Cumulative inference compute output duration in microseconds (does not include cached requests)",
  },
  {
    key: "cacheHit",
    name: "nv_cache_hit_summary_per_model",
    help: "Summary of cache hit counts/durations per model, in microseconds.",
  },
  {
    key: "cacheMiss",
    name: "nv_cache_miss_summary_per_model",
    help: "Summary of cache miss counts/durations per model, in microseconds.",
  },
];

function count(key: keyof InferStatistics): NumberFamily["read"] {
  return ({ statistics }) => [{ value: statistics.inference_stats[key].count }];
}

function microseconds(key: keyof InferStatistics): NumberFamily["read"] {
  return ({ statistics }) => [{ value: Math.floor(statistics.inference_stats[key].ns / 1000) }];
}

function byLabel(name: string, values: Readonly<Record<string, number>>): readonly Reading[] {
  return Object.entries(values).map(([key, value]) => ({ value, labels: { [name]: key } }));
}
