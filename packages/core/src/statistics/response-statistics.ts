import type { ResponseStatistics, StatisticDuration } from "@naiad/protocol";
import type { ResponseRecord } from "./model-statistics.ts";

/**
 * Triton's `response_stats`: how the first, second, ... responses of decoupled requests fared, each over all requests. What
 * waits for a slow reader is charged to none. The last entry is mostly that of ends without a response, and that of all
 * responses beyond the 1,000th: a model may stream for ever.
 */
export interface ResponseStatisticsRecorder {
  add(record: ResponseRecord): void;
  /** By index, as text. */
  snapshot(): Readonly<Record<string, ResponseStatistics>>;
}

const MAX_ENTRIES = 1000;

type Mutable = { [Name in keyof ResponseStatistics]: { count: number; ns: number } };

export function createResponseStatistics(): ResponseStatisticsRecorder {
  const byIndex = new Map<number, Mutable>();

  function entryOf(responseIndex: number): Mutable {
    const index = Math.min(responseIndex, MAX_ENTRIES - 1);
    let entry = byIndex.get(index);
    if (entry === undefined) byIndex.set(index, (entry = emptyEntry()));
    return entry;
  }

  return {
    add(record) {
      const entry = entryOf(record.index);
      switch (record.kind) {
        case "success":
        case "fail":
          count(entry.compute_infer, record.computeInferNs);
          count(entry.compute_output, record.computeOutputNs);
          count(entry[record.kind], record.computeInferNs + record.computeOutputNs);
          return;
        case "empty_response":
          count(entry.compute_infer, record.durationNs);
          count(entry.empty_response, record.durationNs);
          return;
        case "cancel":
          count(entry.cancel, record.durationNs);
      }
    },
    snapshot: () =>
      Object.fromEntries([...byIndex].map(([index, entry]) => [String(index), structuredCopy(entry)])),
  };
}

function emptyEntry(): Mutable {
  const none = (): { count: number; ns: number } => ({ count: 0, ns: 0 });
  return {
    compute_infer: none(),
    compute_output: none(),
    success: none(),
    fail: none(),
    empty_response: none(),
    cancel: none(),
  };
}

function count(total: { count: number; ns: number }, ns: number): void {
  total.count += 1;
  total.ns += Math.max(0, Math.round(ns));
}

function structuredCopy(entry: Mutable): ResponseStatistics {
  const copy = ({ count: events, ns }: StatisticDuration): StatisticDuration => ({ count: events, ns });
  return {
    compute_infer: copy(entry.compute_infer),
    compute_output: copy(entry.compute_output),
    success: copy(entry.success),
    fail: copy(entry.fail),
    empty_response: copy(entry.empty_response),
    cancel: copy(entry.cancel),
  };
}
