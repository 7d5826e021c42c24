import { cp, mkdtemp, rm } from "node:fs/promises";
import { cpus, loadavg, release, tmpdir, totalmem, type } from "node:os";
import { join } from "node:path";
import type { PerfAnalyzer } from "../clients/perf-analyzer.ts";
import type { Served } from "../clients/naiad-serve.ts";
import { naiadServe } from "../clients/naiad-serve.ts";
import { runProgram } from "../clients/programs.ts";
import type { ClientRun } from "./client-run.ts";
import { runClient } from "./client-run.ts";

export interface PairsOptions {
  /** Of the repository, whose package is built and whose models are written. */
  readonly root: string;
  readonly analyzer: Pick<PerfAnalyzer, "command" | "env">;
  readonly models: readonly string[];
  readonly concurrencies: readonly number[];
  readonly pairs: number;
  /** Of a window; a run has three. */
  readonly windowMs: number;
  readonly print: (line: string) => void;
}

/**
 * perf_analyzer and `naiad perf` in turn against one `naiad serve`: who goes first changes from pair to pair, so that what else
 * the machine does falls on both.
 */
export async function runPairs(options: PairsOptions): Promise<void> {
  const { concurrencies, models, print, root } = options;
  const scratch = await mkdtemp(join(tmpdir(), "naiad-pairs-"));
  try {
    for (const model of models) {
      await cp(join(root, "public/models", model), join(scratch, model), { recursive: true });
    }
    for (const line of await machineLines(root)) print(line);
    const served = await naiadServe(root, ["--model-repository", scratch]);
    try {
      print(HEADER);
      for (const model of models) {
        for (const protocol of ["http", "grpc"] as const) {
          for (const concurrency of concurrencies) {
            print(
              rowOf(await pairsOf({ model, protocol, concurrency, served }, options), {
                model,
                protocol,
                concurrency,
              }),
            );
          }
        }
      }
    } finally {
      await served.service.stop();
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

const HEADER =
  "model          way   conc  perf_analyzer   naiad perf   ratio (lowest .. highest)  ratio of p50   client's CPU    machine  load";

interface Level {
  readonly model: string;
  readonly protocol: "http" | "grpc";
  readonly concurrency: number;
}

interface Pair {
  readonly theirs: ClientRun;
  readonly ours: ClientRun;
}

async function pairsOf(
  { concurrency, model, protocol, served }: Level & { readonly served: Served },
  { analyzer, pairs, root, windowMs }: PairsOptions,
): Promise<readonly Pair[]> {
  const range = `${String(concurrency)}:${String(concurrency)}`;
  const args = [
    ...["-m", model, "-i", protocol, "-u", served[protocol], "--concurrency-range", range],
    // Windows that count whatever they show: how far runs lie apart is what the pairs tell.
    ...["--measurement-interval", String(windowMs), "--stability-percentage", "999", "--max-trials", "3"],
  ];
  const [path = "", ...before] = analyzer.command;
  const theirs = { path, args: [...before, ...args], env: analyzer.env };
  const ours = { path: process.execPath, args: [join(root, "packages/naiad/bin/naiad.js"), "perf", ...args] };
  const found: Pair[] = [];
  for (let index = 0; index < pairs; index += 1) {
    if (index % 2 === 0) {
      const first = await runClient(theirs);
      found.push({ theirs: first, ours: await runClient(ours) });
    } else {
      const first = await runClient(ours);
      found.push({ ours: first, theirs: await runClient(theirs) });
    }
  }
  return found;
}

function rowOf(pairs: readonly Pair[], { concurrency, model, protocol }: Level): string {
  const of = (figure: (pair: Pair) => number): readonly number[] =>
    pairs.map(figure).sort((one, other) => one - other);
  const ratios = of(({ ours, theirs }) => ours.inferencesPerSecond / theirs.inferencesPerSecond);
  const p50 = of(({ ours, theirs }) => theirs.medianUs / ours.medianUs);
  const share = (value: number): string => `${(value * 100).toFixed(0)} %`;
  const rate = (side: keyof Pair): string =>
    `${median(of((pair) => pair[side].inferencesPerSecond)).toFixed(0)}/s`;
  const cpu = (side: keyof Pair): string => share(median(of((pair) => pair[side].cpuShare)));
  return [
    model.padEnd(14),
    protocol.padEnd(5),
    String(concurrency).padStart(4),
    rate("theirs").padStart(14),
    rate("ours").padStart(12),
    `${median(ratios).toFixed(2)} (${(ratios[0] ?? 0).toFixed(2)} .. ${(ratios.at(-1) ?? 0).toFixed(2)})`.padStart(
      26,
    ),
    median(p50).toFixed(2).padStart(13),
    `${cpu("theirs")} / ${cpu("ours")}`.padStart(14),
    share(median(of(({ ours, theirs }) => (ours.machineShare + theirs.machineShare) / 2))).padStart(10),
    (loadavg()[0] ?? 0).toFixed(1).padStart(5),
  ].join(" ");
}

function median(sorted: readonly number[]): number {
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}

async function machineLines(root: string): Promise<readonly string[]> {
  const all = cpus();
  const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  const command = [join(root, "packages/naiad/bin/naiad.js"), "doctor", "--json", ...sandbox];
  // It has words of its own for what does not work, which is no concern of this.
  const told = await runProgram(process.execPath, command).then(
    ({ stdout }) => JSON.parse(stdout) as Diagnosis,
    (): Diagnosis => ({ findings: [] }),
  );
  const adapter = told.findings.find(({ subject }) => subject === "GPU")?.text ?? "unknown";
  return [
    `machine  ${String(all.length)} x ${all[0]?.model ?? "?"}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, ${type()} ${release()}, Node.js ${process.version}`,
    `browser  ${told.userAgent ?? "?"}`,
    `adapter  ${adapter}`,
    `load     ${loadavg()
      .map((one) => one.toFixed(1))
      .join(", ")}`,
    "",
  ];
}

interface Diagnosis {
  readonly userAgent?: string;
  readonly findings: readonly { readonly subject: string; readonly text: string }[];
}
