import { stringifyJson } from "@naiad/protocol";
import type { PerfReport } from "./perf-report.ts";

/** The version of the file's form, which is that of perf_analyzer 2.45. */
const FORM = "2.45.0";

/**
 * perf_analyzer's `--profile-export-file`, as JSON text: when each request was sent and when its responses came, in nanoseconds since
 * the epoch. Contents of requests and responses are not in it. Needs the moments to be kept.
 */
export function profileExport(report: PerfReport): string {
  // Nanoseconds since the epoch need more digits than a number has.
  const originNs = BigInt(Math.round(report.clockOriginMs * 1e3)) * 1000n;
  const since = (ns: number): bigint => originNs + BigInt(Math.round(ns));
  return stringifyJson({
    experiments: report.levels.map(({ value, moments, windowBoundariesNs }) => ({
      experiment: { mode: report.load === "concurrency" ? "concurrency" : "request_rate", value },
      requests: moments.map(({ startNs, responsesNs, sequenceId }) => ({
        timestamp: since(startNs),
        ...(sequenceId !== undefined && { sequence_id: BigInt(sequenceId) }),
        response_timestamps: responsesNs.map(since),
      })),
      window_boundaries: windowBoundariesNs.map(since),
    })),
    version: FORM,
    service_kind: "triton",
    endpoint: "",
  });
}
