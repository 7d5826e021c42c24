import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { debianPackage, newerDebian, wheel } from "./environments.ts";
import type { Served } from "./naiad-serve.ts";
import type { PerfRow } from "./perf-rows.ts";
import { perfRows, rowProblem } from "./perf-rows.ts";
import { runProgram } from "./programs.ts";
import type { Tally } from "./tally.ts";

export interface PerfAnalyzer {
  readonly name: string;
  /** The program, and what stands before its own arguments. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  run(args: readonly string[], options?: { readonly cwd: string }): Promise<string>;
}

/** The program that came with `tritonclient` 2.45. Two libraries that it wants stand in packages of their own. */
export async function bundledPerfAnalyzer(cache: string, python: string): Promise<PerfAnalyzer> {
  const environment = dirname(dirname(python));
  const program = join(environment, "bin/perf_analyzer");
  if (!existsSync(program)) throw new Error("the package tritonclient has brought no perf_analyzer");
  const base64 = join(await debianPackage(cache, "libb64-0d"), "usr/lib/x86_64-linux-gnu");
  const libraries = await sitePackages(environment);
  const env = { LD_LIBRARY_PATH: `${base64}:${join(libraries, "nvidia/cuda_runtime/lib")}` };
  return {
    name: "perf_analyzer of tritonclient 2.45.0",
    command: [program],
    env,
    run: async (args, options) =>
      (await runProgram(program, args, { ...options, env, timeoutMs: 90_000 })).stdout,
  };
}

const NEWEST = "2.60.0";

/** The newest one, from its own package. Where the machine's C library is older than it wants, it runs on a newer Debian's. */
export async function newestPerfAnalyzer(cache: string): Promise<PerfAnalyzer> {
  const folder = await wheel(cache, `perf-analyzer==${NEWEST}`, "manylinux_2_38_x86_64");
  const program = join(folder, "perf_analyzer/bin/perf_analyzer");
  let command = [program];
  let on = "";
  try {
    await runProgram(program, ["--version"]);
  } catch {
    const debian = await newerDebian(cache, ["libssl3t64", "libstdc++6", "zlib1g"]);
    const loader = join(debian, "lib64/ld-linux-x86-64.so.2");
    command = [loader, "--library-path", join(debian, "usr/lib/x86_64-linux-gnu"), program];
    on = " on a newer Debian's libraries";
  }
  const [first = "", ...rest] = command;
  return {
    name: `perf_analyzer ${NEWEST}${on}`,
    command,
    env: {},
    run: async (args, options) =>
      (await runProgram(first, [...rest, ...args], { ...options, timeoutMs: 90_000 })).stdout,
  };
}

async function sitePackages(environment: string): Promise<string> {
  const [version = ""] = await readdir(join(environment, "lib"));
  return join(environment, "lib", version, "site-packages");
}

/** Short windows, and any of them counts as stable: the machine is nobody's alone. */
const SHORT = ["--measurement-interval", "500", "--stability-percentage", "999", "--max-trials", "4"];

export interface PerfCalls {
  readonly analyzer: PerfAnalyzer;
  readonly served: Served;
  /** Folder for what it exports. */
  readonly scratch: string;
  readonly tally: Tally;
}

/** Measures over both protocols; numbers must agree with each other, whatever they are. */
export async function runPerfAnalyzer(calls: PerfCalls): Promise<void> {
  for (const protocol of ["http", "grpc"] as const) {
    for (const concurrency of [1, 4, 8]) {
      await check(calls, `${protocol}, concurrency ${String(concurrency)}`, {
        protocol,
        concurrencies: [concurrency],
        args: ["-m", "simple"],
      });
    }
  }
}

/** What else it can do: a range and input data as beginners use it, streams, sequences, decoupled models. */
export async function runPerfAnalyzerVariants(
  calls: PerfCalls,
  /** As the documentation shows it, without the program's name. */
  documented: readonly (readonly string[])[],
): Promise<void> {
  for (const args of documented) {
    await check(calls, args.join(" "), {
      protocol: "http",
      concurrencies: [1, 2, 3, 4, 5, 6, 7, 8],
      args,
    });
  }
  await check(calls, "grpc, a stream, concurrency 4", {
    protocol: "grpc",
    concurrencies: [4],
    args: ["-m", "simple", "--streaming", "--async"],
  });
  await check(calls, "grpc, sequences, concurrency 2", {
    protocol: "grpc",
    concurrencies: [2],
    args: ["-m", "simple_sequence", "--sequence-length", "5"],
  });
  await check(calls, "grpc, a stream to a decoupled model, concurrency 2", {
    protocol: "grpc",
    concurrencies: [2],
    args: [
      ...["-m", "repeat_int32", "--streaming", "--async"],
      ...["--input-data", "zero", "--shape", "IN:4", "--shape", "DELAY:4"],
    ],
  });
}

interface Measurement {
  readonly protocol: "http" | "grpc";
  readonly args: readonly string[];
  readonly concurrencies: readonly number[];
}

async function check(
  { analyzer, scratch, served, tally }: PerfCalls,
  name: string,
  what: Measurement,
): Promise<void> {
  const { args, concurrencies, protocol } = what;
  await tally.check(analyzer.name, name, async () => {
    const file = join(scratch, "perf-analyzer.csv");
    const range = args.includes("--concurrency-range")
      ? []
      : ["--concurrency-range", `${String(concurrencies.at(0))}:${String(concurrencies.at(-1))}`];
    const report = await analyzer.run([
      ...[...args, ...range, "-i", protocol, "-u", served[protocol]],
      ...[...SHORT, "-f", file, "--verbose-csv"],
    ]);
    const rows = perfRows(await readFile(file, "utf8"));
    const seen = rows.map(({ concurrency }) => concurrency).toSorted((one, other) => one - other);
    if (seen.join() !== concurrencies.join()) throw new Error(`rows for ${seen.join()} in\n${report}`);
    for (const row of rows) {
      const problem = rowProblem(row);
      if (problem !== undefined) throw new Error(`${problem}:\n${report}`);
    }
    checkCounts(report, concurrencies.length);
    return rows
      .toSorted((one, other) => one.concurrency - other.concurrency)
      .map(summary)
      .join("; ");
  });
}

/** The server's own statistics tell of as many inferences as the client has made, but for those at the edges of a window. */
function checkCounts(report: string, count: number): void {
  const made = numbersOf(/Request count: (\d+)/g, report);
  const told = numbersOf(/Inference count: (\d+)/g, report);
  if (made.length !== count || told.length !== count) throw new Error(`counts are missing in\n${report}`);
  for (const [index, requests] of made.entries()) {
    const inferences = told[index] ?? 0;
    if (Math.abs(inferences - requests) > 24 + 0.1 * requests) {
      throw new Error(`${String(requests)} requests are ${String(inferences)} inferences for the server`);
    }
  }
}

function numbersOf(pattern: RegExp, text: string): readonly number[] {
  return [...text.matchAll(pattern)].map(([, digits]) => Number(digits));
}

function summary({ averageUs, throughput }: PerfRow): string {
  return `${throughput.toFixed(0)} infer/s, ${(averageUs / 1000).toFixed(1)} ms`;
}
