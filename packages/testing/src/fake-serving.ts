import type { ServingVersion } from "@naiad/core";
import { createModelLatencies, createModelStatistics } from "@naiad/core";
import { modelSignature, parseConfigText } from "@naiad/model-config";
import { DEFAULT_METRICS_CONFIG, InferenceError } from "@naiad/protocol";

/** A loaded version of a model without instances. */
export interface FakeServing extends ServingVersion {
  /** Whether it was taken out of service. */
  readonly retired: boolean;
  /** For `drains: "by hand"`: the last request was answered. */
  drain(): void;
  failToDrain(error: Error): void;
}

export interface FakeServingOptions {
  readonly note?: string;
  readonly drains?: "at once" | "by hand";
  /** Its only instance was given up. */
  readonly isLost?: boolean;
}

export function fakeServing(version: number, options: FakeServingOptions = {}): FakeServing {
  const config = parseConfigText('name: "m" backend: "fake"', { fileName: "config.pbtxt" });
  let retired = false;
  let drain = (): void => undefined;
  let failToDrain: (error: Error) => void = () => undefined;
  const drained = new Promise<void>((resolve, reject) => {
    drain = resolve;
    failToDrain = reject;
  });
  if (options.drains !== "by hand") drain();
  return {
    modelName: "m",
    version,
    config,
    signature: modelSignature(config),
    labels: new Map(),
    scheduler: {
      inflightCount: 0,
      enqueue: () => {
        throw new InferenceError("UNAVAILABLE", "a fake takes no requests");
      },
      stop: () => Promise.resolve(),
    },
    statistics: createModelStatistics({ clock: { epochMs: () => 0 } }),
    latencies: createModelLatencies({
      metrics: DEFAULT_METRICS_CONFIG,
      config,
      isCached: false,
      clock: { nowNs: () => 0 },
    }),
    loadDurationNs: 0,
    note: options.note ?? "",
    instances: () => [
      {
        modelName: "m",
        version: String(version),
        instanceName: "m_0",
        state: options.isLost === true ? "lost" : "ready",
        executionCount: 0,
        replacements: 0,
      },
    ],
    prepareUpdate: () => Promise.reject(new InferenceError("UNSUPPORTED", "a fake has no instances")),
    hold: () => () => undefined,
    retire: () => {
      retired = true;
      return drained;
    },
    get retired() {
      return retired;
    },
    drain: () => {
      drain();
    },
    failToDrain: (error) => {
      failToDrain(error);
    },
  };
}
