import type { CustomMetric } from "@naiad/core";
import type { Metric, MetricFamily, MetricFamilyOptions, MetricKind, MetricOptions } from "./model/model.ts";
import { ModelError } from "./model/model-error.ts";
import type { MetricsHost } from "./model-host.ts";

const KIND_NAMES: Readonly<Record<MetricKind, string>> = {
  counter: "TRITONSERVER_METRIC_KIND_COUNTER",
  gauge: "TRITONSERVER_METRIC_KIND_GAUGE",
  histogram: "TRITONSERVER_METRIC_KIND_HISTOGRAM",
};

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
/** What begins with two underscores is Prometheus' own. */
const LABEL_NAME = /^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/;

/**
 * `args.metricFamily`. What is wrong with a call is thrown at once, with Triton's texts: one value that no number is would make
 * all metrics of the server unreadable.
 */
export async function createMetricFamily(
  options: MetricFamilyOptions,
  host: MetricsHost,
): Promise<MetricFamily> {
  const { name, description, kind } = options;
  if (typeof name !== "string" || !NAME.test(name)) throw invalid(`'${name}' is no name for a metric family`);
  if (!Object.hasOwn(KIND_NAMES, kind)) throw invalid("Unsupported kind passed to MetricFamily constructor.");
  if (typeof description !== "string") throw invalid(`metric family '${name}' has no description`);
  await host.declare({ name, description, kind });
  return { metric: (metricOptions = {}) => createMetric(options, metricOptions, host) };
}

function createMetric(
  { name, kind }: MetricFamilyOptions,
  { labels = {}, buckets = [] }: MetricOptions,
  host: MetricsHost,
): Metric {
  const unsupported = (what: string): ModelError =>
    new ModelError(`${KIND_NAMES[kind]} does not support ${what}`, "UNSUPPORTED");
  if (kind === "histogram" && !ascends(buckets)) {
    throw invalid("Must be a histogram metric family with buckets that ascend");
  }
  if (kind !== "histogram" && buckets.length > 0) throw invalid("Unexpected buckets found.");
  checkLabels(labels, kind);
  const reference: CustomMetric = { family: name, labels: { ...labels } };
  host.update({ ...reference, change: { kind: "create", buckets: [...buckets] } });
  return {
    increment(by) {
      if (kind === "histogram") throw unsupported("Increment");
      checkNumber(by);
      if (kind === "counter" && !(by >= 0)) {
        throw invalid(
          "TRITONSERVER_METRIC_KIND_COUNTER can only be incremented monotonically by non-negative values.",
        );
      }
      host.update({ ...reference, change: { kind: "increment", value: by } });
    },
    set(value) {
      if (kind !== "gauge") throw unsupported("Set");
      checkNumber(value);
      host.update({ ...reference, change: { kind: "set", value } });
    },
    observe(value) {
      if (kind !== "histogram") throw unsupported("Observe");
      checkNumber(value);
      host.update({ ...reference, change: { kind: "observe", value } });
    },
    async value() {
      if (kind === "histogram") throw unsupported("Value");
      return await host.value(reference);
    },
  };
}

function ascends(buckets: readonly number[]): boolean {
  return (
    buckets.length > 0 &&
    buckets.every(
      (bound, index) => Number.isFinite(bound) && (index === 0 || bound > (buckets[index - 1] ?? bound)),
    )
  );
}

function checkLabels(labels: Readonly<Record<string, unknown>>, kind: MetricKind): void {
  for (const [name, value] of Object.entries(labels)) {
    if (!LABEL_NAME.test(name) || (name === "le" && kind === "histogram")) {
      throw invalid(`'${name}' is no name for a label of a ${kind}`);
    }
    if (typeof value !== "string") throw invalid(`label '${name}' must be text, but it is ${typeof value}`);
  }
}

function checkNumber(value: unknown): void {
  if (typeof value !== "number") throw invalid(`a metric takes numbers, and not ${typeof value}`);
}

function invalid(message: string): ModelError {
  return new ModelError(message, "INVALID_ARG");
}
