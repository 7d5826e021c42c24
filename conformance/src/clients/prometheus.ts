import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { debianPackage } from "./environments.ts";
import type { Served } from "./naiad-serve.ts";
import { runProgram, startService } from "./programs.ts";
import type { Tally } from "./tally.ts";

/**
 * Of each kind of source one that is never 0: a model, its instances, workers, the model store, the machine. Those of a GPU are
 * there where the machine has one.
 */
const POSITIVE: readonly string[] = [
  'nv_inference_request_success{model="simple"}',
  'nv_model_load_duration_secs{model="simple"}',
  'naiad_instance_info{model="simple",execution_provider="wasm"}',
  'naiad_workers{kind="cpu"}',
  "sum(naiad_worker_starts_total)",
  "sum(naiad_wasm_memory_bytes)",
  "naiad_storage_quota_bytes",
  "naiad_max_inflight_bytes",
  "nv_cpu_memory_total_bytes",
  "nv_cpu_memory_used_bytes",
];

/** Shares, counts and bytes that may be nothing. */
const THERE: readonly string[] = [
  "nv_cpu_utilization",
  'nv_inference_pending_request_count{model="simple"}',
  'naiad_pending_request_bytes{model="simple"}',
  "naiad_inflight_bytes",
  "naiad_host_restarts_total",
];

interface QueryAnswer {
  readonly data: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly value: readonly [time: number, value: string];
    }[];
  };
}

/** Lets Debian's Prometheus scrape the metrics, and asks it what it has read; its own linter reads them too. */
export async function runPrometheus(
  cache: string,
  scratch: string,
  served: Served,
  tally: Tally,
): Promise<void> {
  await tally.check("Prometheus", "scrapes the port of the metrics and answers queries", async () => {
    const program = join(await debianPackage(cache, "prometheus"), "usr/bin/prometheus");
    const config = join(scratch, "prometheus.yml");
    await writeFile(
      config,
      `scrape_configs:\n  - job_name: naiad\n    scrape_interval: 1s\n    static_configs: [{ targets: ["${served.metrics}"] }]\n`,
    );
    const port = 40_000 + (process.pid % 20_000);
    const at = `127.0.0.1:${String(port)}`;
    const service = await startService(
      program,
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(scratch, "prometheus")}`,
        `--web.listen-address=${at}`,
      ],
      { ready: (log) => log.includes("Server is ready to receive web requests") },
    );
    try {
      const values: string[] = [];
      for (const query of [...POSITIVE, ...THERE]) {
        const value = await queryUntilThere(at, query);
        const isWrong = POSITIVE.includes(query) ? !(value > 0) : !(value >= 0);
        if (isWrong) throw new Error(`${query} is ${String(value)}`);
        values.push(`${query} ${String(value)}`);
      }
      // A scrape that Prometheus cannot read to its end counts as one that failed.
      const up = await queryUntilThere(at, 'min_over_time(up{job="naiad"}[1h])');
      if (up !== 1) throw new Error("Prometheus has counted the target as down");
      const share = await queryUntilThere(at, "nv_cpu_utilization");
      if (share > 1) throw new Error(`nv_cpu_utilization is ${String(share)}`);
      return values.join("; ");
    } finally {
      await service.stop();
    }
  });
  await tally.check("Prometheus", "finds nothing to say about metrics of our own names", async () => {
    const program = join(await debianPackage(cache, "prometheus"), "usr/bin/promtool");
    const input = await (await fetch(`http://${served.metrics}/metrics`)).text();
    const complaints = await lint(program, input);
    const ours = complaints.filter((line) => !line.startsWith("nv_"));
    if (ours.length > 0) throw new Error(ours.join("; "));
    return `${String(complaints.length)} remarks, all about names of Triton's`;
  });
}

/** What `promtool check metrics` remarks, a line each: style, where the text is sound. Rejects where it is not. */
async function lint(program: string, input: string): Promise<readonly string[]> {
  try {
    const { stderr, stdout } = await runProgram(program, ["check", "metrics"], { input });
    return remarksIn(stdout + stderr);
  } catch (thrown) {
    // It ends with 3 where it has remarks.
    const { message } = thrown as Error;
    const remarks = remarksIn(message);
    if (remarks.length === 0 || !message.includes(" ended with 3\n")) throw thrown;
    return remarks;
  }
}

function remarksIn(text: string): readonly string[] {
  return text.split("\n").filter((line) => /^[a-z_]+ [a-z]/.test(line));
}

const PATIENCE_MS = 20_000;

async function queryUntilThere(at: string, query: string): Promise<number> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const response = await fetch(`http://${at}/api/v1/query?query=${encodeURIComponent(query)}`);
    // Prometheus' documented shape.
    const { data } = (await response.json()) as QueryAnswer;
    const [first] = data.result;
    if (first !== undefined) return Number(first.value[1]);
    if (performance.now() > end) throw new Error(`Prometheus has nothing for ${query}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
