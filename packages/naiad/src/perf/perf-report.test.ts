import { describe, expect, it } from "vitest";
import { bench, concurrency, measurement, MS, runOn } from "../../test/perf-bench.ts";
import { profileExport } from "./profile-export.ts";
import { composingCsvs, reportCsv } from "./report-csv.ts";
import { levelLines, summaryLines } from "./report-text.ts";
import { settingsLines } from "./settings-text.ts";

describe("reports", () => {
  it("are laid out as perf_analyzer's", async () => {
    const server = bench();
    const options = measurement(server);
    const report = await runOn(server);
    expect(settingsLines(options, { model: { isDecoupled: false, isSequence: false } })).toEqual([
      "*** Measurement Settings ***",
      "  Batch size: 2",
      "  Service Kind: Triton",
      '  Using "time_windows" mode for stabilization',
      "  Measurement window: 1000 msec",
      "  Using synchronous calls for inference",
      "  Stabilizing using average latency",
    ]);
    const lines = report.levels.flatMap((level) => levelLines(level, report));
    expect(lines.map((line) => line.replace(/p(\d\d) latency: \d+/, "p$1 latency: N"))).toEqual([
      "  Client:",
      "    Request count: 300",
      "    Throughput: 200 infer/sec",
      "    Avg latency: 10000 usec (standard deviation 0 usec)",
      "    p50 latency: N usec",
      "    p90 latency: N usec",
      "    p95 latency: N usec",
      "    p99 latency: N usec",
      "    Avg HTTP time: 10000 usec (send/recv 300 usec + response wait 9700 usec)",
      "  Server:",
      "    Inference count: 600",
      "    Execution count: 300",
      "    Successful request count: 300",
      "    Avg request latency: 5000 usec (overhead 250 usec + queue 1000 usec + compute input 250 usec + compute infer 3000 usec + compute output 500 usec)",
    ]);
    expect(summaryLines(report)).toEqual([
      "Inferences/Second vs. Client Average Batch Latency",
      "Concurrency: 1, throughput: 200 infer/sec, latency 10000 usec",
    ]);
  });

  it("are written as CSV, by rising throughput", async () => {
    const report = await runOn(bench(), { load: concurrency("1:2") });
    const shuffled = { ...report, levels: [...report.levels].reverse() };
    const [header, one, two] = reportCsv(shuffled, { verbose: false }).split("\n");
    expect(header).toBe(
      "Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input," +
        "Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency",
    );
    expect(one).toMatch(/^1,200,100,4950,1000,250,3000,500,200,10\d\d\d,/);
    expect(two).toMatch(/^2,400,/);
    const verbose = reportCsv(report, { verbose: true }).split("\n");
    expect(verbose[0]).toMatch(/,Avg latency,request\/response,response wait$/);
    expect(verbose[1]).toMatch(/,10000,300,9700$/);
  });

  it("have a block for each model of an ensemble, and the responses of decoupled models", async () => {
    const config = { max_batch_size: 8, ensemble_scheduling: { step: [{ model_name: "a" }] } };
    const report = await runOn(bench({ config, responses: 3 }));
    expect(reportCsv(report, { verbose: false })).toContain(
      "Inferences/Second,Response Throughput,Client Send",
    );
    const [csv] = composingCsvs(report);
    expect(csv).toMatchObject({ name: "a", version: "1" });
    expect(csv?.text).toMatch(/^Concurrency,Inferences\/Second,.*,Client Recv\n1,/);
    const lines = report.levels.flatMap((level) => levelLines(level, report));
    expect(lines.some((line) => /^ {4}Response Throughput: (29|30)\d(\.\d+)? infer\/sec$/.test(line))).toBe(
      true,
    );
    expect(lines).toContain("  a, version: 1");
  });

  it("warn where numbers are not to be believed", async () => {
    const report = await runOn(
      bench({ latencyMs: (n) => 10 * 1.01 ** n, hasStatistics: false }),
      { rule: { percentile: 75 } },
      60,
    );
    const lines = report.levels.flatMap((level) => levelLines(level, report));
    expect(lines.at(-1)).toMatch(
      /^Failed to obtain stable measurement within 5 measurement windows for concurrency 1\./,
    );
    expect(lines).toContain("  Server: keeps no statistics");
    expect(lines.some((line) => line.startsWith("    p75 latency: "))).toBe(true);
  });

  it("have the times of every request for perf_analyzer's profile", async () => {
    const report = await runOn(bench(), { rule: { requestCount: 2 }, keepMoments: true });
    const origin = 1_700_000_000_000_000_000n;
    const at = (ms: number): string => String(origin + BigInt(ms * MS));
    const text = profileExport({ ...report, clockOriginMs: 1_700_000_000_000 });
    // Nanoseconds since the epoch are beyond what numbers hold exactly.
    expect(text).toContain(`{"timestamp":${at(1)},"response_timestamps":[${at(11)}]}`);
    expect(JSON.parse(text)).toMatchObject({
      experiments: [
        {
          experiment: { mode: "concurrency", value: 1 },
          requests: [{}, {}],
          window_boundaries: [Number(at(1)), Number(at(21))],
        },
      ],
      service_kind: "triton",
    });
  });
});
