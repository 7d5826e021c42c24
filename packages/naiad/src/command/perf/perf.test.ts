import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openFolder, openStand, perf, QUICK } from "../../../test/perf-stand.ts";

describe("naiad perf", () => {
  it("measures a range of concurrencies, and says so as perf_analyzer does", async () => {
    const stand = await openStand();
    const { code, error, out } = await perf(
      ...QUICK,
      "-u",
      stand.url,
      "--concurrency-range",
      "1:2",
      "--input-data",
      "zero",
    );
    expect(error).toEqual([]);
    expect(code).toBe(0);
    const text = out.join("\n");
    expect(text).toMatch(
      /^\*\*\* Measurement Settings \*\*\*\n {2}Batch size: 1\n {2}Service Kind: Triton\n/,
    );
    expect(text).toMatch(
      /Request concurrency: 2\n {2}Client:\n {4}Request count: \d+\n {4}Throughput: [\d.]+ infer\/sec/,
    );
    expect(text).toMatch(/Avg HTTP time: \d+ usec \(send\/recv \d+ usec \+ response wait \d+ usec\)/);
    expect(text).toMatch(/Avg request latency: 1 usec \(overhead 0 usec \+ queue 0 usec/);
    expect(out.slice(-3)[0]).toBe("Inferences/Second vs. Client Average Batch Latency");
    expect(out.at(-1)).toMatch(/^Concurrency: 2, throughput: [\d.]+ infer\/sec, latency \d+ usec$/);
  });

  it("keeps to a rate", async () => {
    const stand = await openStand();
    const { code, out } = await perf(
      "-m",
      "m",
      "-u",
      stand.url,
      "--request-rate-range",
      "200",
      "--request-count",
      "40",
      "--json",
    );
    expect(code).toBe(0);
    const report = JSON.parse(out.join("\n")) as {
      readonly load: string;
      readonly levels: readonly { readonly requests: number; readonly inferencesPerSecond: number }[];
    };
    expect(report.load).toBe("request-rate");
    expect(report.levels[0]?.requests).toBe(40);
    // A busy machine may be slower. Faster than its schedule it is not: 40 requests have 39 intervals of 5 ms.
    expect(report.levels[0]?.inferencesPerSecond).toBeLessThan(206);
  });

  it("writes CSV and the times of every request", async () => {
    const stand = await openStand();
    const folder = await openFolder();
    const [csv, profile] = [join(folder, "r.csv"), join(folder, "p.json")];
    const { code } = await perf(
      "-m",
      "m",
      "-u",
      stand.url,
      "--request-count",
      "5",
      "-f",
      csv,
      "--verbose-csv",
      "--profile-export-file",
      profile,
    );
    expect(code).toBe(0);
    expect(await readFile(csv, "utf8")).toMatch(/^Concurrency,Inferences\/Second,.*response wait\n1,/);
    const written = JSON.parse(await readFile(profile, "utf8")) as {
      readonly experiments: readonly { readonly requests: readonly unknown[] }[];
    };
    expect(written.experiments[0]?.requests).toHaveLength(5);
  });

  it("reads the server's metrics, and fails where there are none", async () => {
    const stand = await openStand();
    const folder = await openFolder();
    const csv = join(folder, "m.csv");
    const argv = ["-m", "m", "-u", stand.url, "--request-count", "5", "--collect-metrics", "-f", csv];
    const { code, out } = await perf(...argv, "--verbose-csv", "--metrics-url", `${stand.url}/metrics`);
    expect(code).toBe(0);
    expect(out.join("\n")).toMatch(
      /\n {2}Server Prometheus Metrics:\n {4}Avg GPU Utilization:\n {6}GPU-a : 25%\n {4}Avg GPU Power Usage:\n/,
    );
    expect(await readFile(csv, "utf8")).toMatch(
      /,Max GPU Memory Usage,Total GPU Memory\n.*,GPU-a:0\.25;,,,\n$/,
    );
    const failing = await perf(...argv, "--metrics-url", "127.0.0.1:1/metrics");
    expect(failing).toMatchObject({ code: 1 });
    expect(failing.error[0]).toContain("no metrics at http://127.0.0.1:1/metrics");
  });

  it("sets traces before it measures", async () => {
    const stand = await openStand();
    await perf(
      "-m",
      "m",
      "-u",
      stand.url,
      "--request-count",
      "1",
      "--trace-level",
      "TIMESTAMPS",
      "--trace-count",
      "-1",
    );
    expect(stand.traces).toEqual(['{"trace_level":["TIMESTAMPS"],"trace_count":"-1"}']);
  });

  it("measures a server without configurations and statistics, and says that it has none", async () => {
    const bare = await openStand({ isBare: true });
    const { code, error, out } = await perf(
      "-m",
      "m",
      "-u",
      bare.url,
      "--request-count",
      "3",
      "--shape",
      "x:1,2",
    );
    expect([code, error]).toEqual([0, []]);
    expect(out).toContain("  Server: keeps no statistics");
  });
});
