import { dirname, join } from "node:path";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { debianPackage } from "./environments.ts";
import type { Served } from "./naiad-serve.ts";
import { runProgram } from "./programs.ts";
import type { Tally } from "./tally.ts";

export interface PerfAnalyzer {
  run(args: readonly string[]): Promise<string>;
}

/**
 * The program that comes with the older `tritonclient`; the newer one on PyPI needs a newer C library than many a machine has. Two
 * libraries that it wants stand in packages of their own.
 */
export async function findPerfAnalyzer(cache: string, python: string): Promise<PerfAnalyzer> {
  const environment = dirname(dirname(python));
  const program = join(environment, "bin/perf_analyzer");
  if (!existsSync(program)) throw new Error("the package tritonclient has brought no perf_analyzer");
  const base64 = join(await debianPackage(cache, "libb64-0d"), "usr/lib/x86_64-linux-gnu");
  const libraries = await sitePackages(environment);
  const env = { LD_LIBRARY_PATH: `${base64}:${join(libraries, "nvidia/cuda_runtime/lib")}` };
  return { run: async (args) => (await runProgram(program, args, { env, timeoutMs: 90_000 })).stdout };
}

async function sitePackages(environment: string): Promise<string> {
  const [version = ""] = await readdir(join(environment, "lib"));
  return join(environment, "lib", version, "site-packages");
}

/** Short windows of a fixed count, and any of them counts as stable: the machine is nobody's alone. */
const SHORT = [
  ...["--measurement-mode", "count_windows", "--measurement-request-count", "50"],
  ...["--stability-percentage", "999", "--max-trials", "4"],
];

/** Measures over both protocols; numbers must agree with each other, whatever they are. */
export async function runPerfAnalyzer(analyzer: PerfAnalyzer, served: Served, tally: Tally): Promise<void> {
  for (const protocol of ["http", "grpc"] as const) {
    for (const concurrency of [1, 4, 8]) {
      const range = `${String(concurrency)}:${String(concurrency)}`;
      const args = ["-m", "simple", "-i", protocol, "-u", served[protocol], "--concurrency-range", range];
      await tally.check("perf_analyzer", `${protocol}, concurrency ${String(concurrency)}`, async () =>
        checkReport(await analyzer.run([...args, ...SHORT]), concurrency),
      );
    }
  }
  const beginner = ["-m", "simple", "-u", served.http, "--concurrency-range", "1:8", "--input-data", "zero"];
  await tally.check("perf_analyzer", "--concurrency-range 1:8 --input-data zero", async () => {
    const rows = rowsOf(await analyzer.run([...beginner, ...SHORT]));
    if (rows.length !== 8) throw new Error(`${String(rows.length)} rows instead of 8`);
    return `${rows.map(({ throughput }) => throughput.toFixed(0)).join(", ")} infer/s`;
  });
  const streaming = ["-m", "simple", "-i", "grpc", "-u", served.grpc, "--streaming", "--async"];
  await tally.check("perf_analyzer", "grpc, a stream, concurrency 4", async () =>
    checkReport(await analyzer.run([...streaming, "--concurrency-range", "4:4", ...SHORT]), 4),
  );
  const sequences = ["-m", "simple_sequence", "-i", "grpc", "-u", served.grpc, "--sequence-length", "5"];
  await tally.check("perf_analyzer", "grpc, sequences, concurrency 2", async () =>
    checkReport(await analyzer.run([...sequences, "--concurrency-range", "2:2", ...SHORT]), 2),
  );
}

interface Row {
  readonly concurrency: number;
  /** Inferences a second. */
  readonly throughput: number;
  readonly latencyUs: number;
}

function rowsOf(report: string): readonly Row[] {
  const pattern = /^Concurrency: (\d+), throughput: ([\d.]+) infer\/sec, latency (\d+) usec$/gm;
  return [...report.matchAll(pattern)].map(([, concurrency, throughput, latencyUs]) => ({
    concurrency: Number(concurrency),
    throughput: Number(throughput),
    latencyUs: Number(latencyUs),
  }));
}

/** Little's law: as many requests are under way as the concurrency says, or a fewer where the client itself needs time. */
function checkReport(report: string, concurrency: number): string {
  const [row] = rowsOf(report);
  if (row?.concurrency !== concurrency) throw new Error(`no row for it in\n${report}`);
  const { latencyUs, throughput } = row;
  const underWay = (throughput * latencyUs) / 1e6;
  if (underWay < 0.4 * concurrency || underWay > 1.3 * concurrency) {
    throw new Error(
      `${String(throughput)} infer/s at ${String(latencyUs)} us are ${underWay.toFixed(2)} at a time`,
    );
  }
  const executed = Number(/Execution count: (\d+)/.exec(report)?.[1] ?? "0");
  if (executed === 0) throw new Error(`the server's statistics tell of no execution:\n${report}`);
  return `${throughput.toFixed(0)} infer/s, ${(latencyUs / 1000).toFixed(1)} ms`;
}
