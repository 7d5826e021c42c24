import { InferenceError } from "@naiad/protocol";
import { Histogram } from "./histogram.ts";
import type { Labels, MetricFamily } from "./metric-family.ts";

export interface CustomMetricFamily {
  readonly name: string;
  /** One line. */
  readonly description: string;
  readonly kind: "counter" | "gauge" | "histogram";
}

export interface CustomMetric {
  readonly family: string;
  readonly labels: Labels;
}

export interface CustomMetricUpdate extends CustomMetric {
  readonly change:
    /** Makes it known, so that it is told before it changes. `buckets` are a histogram's bounds. */
    | { readonly kind: "create"; readonly buckets: readonly number[] }
    | { readonly kind: "increment" | "set" | "observe"; readonly value: number };
}

/** Metrics that models keep themselves. One name is one family, and one set of labels in it one metric, for all of them. */
export interface CustomMetrics {
  /** ALREADY_EXISTS where a family of another kind has the name, or one of the server could. */
  declare(family: CustomMetricFamily): void;
  /** Of a declared family; what does not suit its kind is left out. */
  update(update: CustomMetricUpdate): void;
  /** NOT_FOUND for a metric that nobody has created. */
  value(metric: CustomMetric): number;
  families(): readonly MetricFamily[];
}

/** A name that is told of twice makes all metrics unreadable. */
const OF_THE_SERVER = /^(naiad|nv_(cache|cpu|energy|gpu|inference|model|pinned))_/;

interface HeldFamily {
  readonly family: CustomMetricFamily;
  readonly numbers: Map<string, { readonly labels: Labels; value: number }>;
  readonly histograms: Map<string, { readonly labels: Labels; readonly histogram: Histogram }>;
}

export function createCustomMetrics(): CustomMetrics {
  const held = new Map<string, HeldFamily>();

  function numberOf({ family, labels }: CustomMetric): { value: number } | undefined {
    return held.get(family)?.numbers.get(keyOf(labels));
  }

  return {
    declare(family) {
      if (OF_THE_SERVER.test(family.name)) {
        throw new InferenceError(
          "ALREADY_EXISTS",
          `names such as '${family.name}' are of the server's own metrics`,
        );
      }
      const present = held.get(family.name);
      if (present === undefined) {
        held.set(family.name, { family, numbers: new Map(), histograms: new Map() });
      } else if (present.family.kind !== family.kind) {
        throw new InferenceError(
          "ALREADY_EXISTS",
          `metric family '${family.name}' is there already, as a ${present.family.kind}`,
        );
      }
    },
    update({ family: name, labels, change }) {
      const present = held.get(name);
      if (present === undefined) return;
      const { family, numbers, histograms } = present;
      const key = keyOf(labels);
      switch (change.kind) {
        case "create":
          if (family.kind === "histogram") {
            if (!histograms.has(key))
              histograms.set(key, { labels, histogram: new Histogram(change.buckets) });
          } else if (!numbers.has(key)) numbers.set(key, { labels, value: 0 });
          return;
        case "observe":
          histograms.get(key)?.histogram.observe(change.value);
          return;
        case "increment":
        case "set": {
          const metric = numbers.get(key);
          if (metric === undefined) return;
          metric.value = change.kind === "set" ? change.value : metric.value + change.value;
        }
      }
    },
    value(metric) {
      const found = numberOf(metric);
      if (found !== undefined) return found.value;
      throw new InferenceError("NOT_FOUND", `metric family '${metric.family}' has no such metric`);
    },
    families: () => [...held.values()].map(familyOf),
  };
}

function familyOf({ family, numbers, histograms }: HeldFamily): MetricFamily {
  const { name, description: help, kind } = family;
  return kind === "histogram"
    ? {
        name,
        help,
        kind,
        metrics: [...histograms.values()].map(({ labels, histogram }) => ({ labels, ...histogram.value() })),
      }
    : { name, help, kind, metrics: [...numbers.values()].map(({ labels, value }) => ({ labels, value })) };
}

function keyOf(labels: Labels): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}
