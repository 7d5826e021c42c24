import type { PerfReport } from "./perf-report.ts";

/** perf_analyzer's `--profile-export-file`: the times of every request, in nanoseconds. Needs the moments to be kept. */
export function profileExport(report: PerfReport): object {
  const mode = report.load === "concurrency" ? "concurrency" : "request_rate";
  return {
    experiments: report.levels.map(({ value, moments }) => ({
      experiment: { mode, value },
      requests: moments.map(({ startNs, endNs }) => ({ timestamp: startNs, response_timestamps: [endNs] })),
      window_boundaries: [],
    })),
    version: "1.0",
    service_kind: "triton",
    endpoint: "",
  };
}
