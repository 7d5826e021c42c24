import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { PerfCalls } from "./perf-analyzer.ts";
import { runProgram } from "./programs.ts";

export interface PerfLayoutCalls extends PerfCalls {
  /** Of the repository, whose package is built. */
  readonly root: string;
}

interface Case {
  readonly name: string;
  readonly protocol: "http" | "grpc";
  readonly args: readonly string[];
}

const CASES: readonly Case[] = [
  { name: "http-range", protocol: "http", args: ["-m", "simple", "--concurrency-range", "1:2"] },
  { name: "http-verbose", protocol: "http", args: ["-m", "simple", "--percentile", "75", "-l", "99999"] },
  { name: "grpc-rate", protocol: "grpc", args: ["-m", "simple", "--request-rate-range", "20"] },
  { name: "grpc-sequences", protocol: "grpc", args: ["-m", "simple_sequence", "--sequence-length", "4"] },
  { name: "http-ensemble", protocol: "http", args: ["-m", "doubled_ensemble"] },
  {
    name: "grpc-decoupled",
    protocol: "grpc",
    args: [
      ...["-m", "repeat_int32", "--streaming", "--async"],
      ...["--shape", "IN:2", "--shape", "DELAY:2", "--input-data", "zero"],
    ],
  },
];

const SHORT = ["-p", "400", "-s", "999", "-r", "4", "--verbose-csv"];

/**
 * `naiad perf` beside perf_analyzer: the same options, and what they write line for line, column for column and key for key. Numbers
 * are left out.
 */
export async function runPerfLayouts(calls: PerfLayoutCalls): Promise<void> {
  const { analyzer, root, scratch, served, tally } = calls;
  for (const { args, name, protocol } of CASES) {
    await tally.check("naiad perf", `${name}: reports as ${analyzer.name}`, async () => {
      const folder = join(scratch, "perf-layouts", name);
      const write = async (who: string): Promise<readonly string[]> => {
        await mkdir(join(folder, who), { recursive: true });
        const files = ["-f", "report.csv", "--profile-export-file", "profile.json"];
        return [...args, "-i", protocol, "-u", served[protocol], ...SHORT, ...files];
      };
      const theirs = await analyzer.run(await write("theirs"), { cwd: join(folder, "theirs") });
      const command = [join(root, "packages/naiad/bin/naiad.js"), "perf", ...(await write("ours"))];
      const ours = await runProgram(process.execPath, command, { cwd: join(folder, "ours") });
      const differences = [
        ...difference("line", linesOf(theirs), linesOf(ours.stdout)),
        ...difference("file", await readdir(join(folder, "theirs")), await readdir(join(folder, "ours"))),
        ...difference("column", await columns(folder, "theirs"), await columns(folder, "ours")),
        ...difference("key", await keys(folder, "theirs"), await keys(folder, "ours")),
      ];
      if (differences.length > 0) throw new Error(differences.join("\n"));
      return undefined;
    });
  }
}

/** What is written only where a client or the machine is slow, and what only ours says. */
const PASSED_OVER: readonly RegExp[] = [
  /^ {4}\[WARNING\]/,
  /^ {4}Avg send request rate/,
  /^WARNING:/,
  /^ Successfully read data/,
  /^ {2}Latencies count from the time at which a request was due/,
];

function linesOf(report: string): readonly string[] {
  return report
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => line !== "" && !PASSED_OVER.some((pattern) => pattern.test(line)))
    .map((line) => line.replaceAll(/\d+(\.\d+)?/g, "N"));
}

async function columns(folder: string, who: string): Promise<readonly string[]> {
  const csv = await readFile(join(folder, who, "report.csv"), "utf8");
  return (csv.split("\n")[0] ?? "").split(",");
}

/** Contents of requests and responses, which the older perf_analyzer writes as bytes that are no text, are not written. */
const LEFT_OUT: ReadonlySet<string> = new Set(["request_inputs", "response_outputs"]);
/** Of newer ones. */
const ADDED: ReadonlySet<string> = new Set(["service_kind", "endpoint"]);

async function keys(folder: string, who: string): Promise<readonly string[]> {
  // Bytes of tensors, which may be no text at all.
  const text = await readFile(join(folder, who, "profile.json"), "latin1");
  // Control characters in it are those of tensors.
  const profile = JSON.parse(text.replaceAll(/[\u0000-\u001f\u007f]/g, "")) as Profile;
  const [experiment] = profile.experiments;
  return [
    ...Object.keys(profile),
    ...Object.keys(experiment ?? {}),
    ...Object.keys(experiment?.requests[0] ?? {}),
  ]
    .filter((key) => !LEFT_OUT.has(key) && !ADDED.has(key))
    .toSorted();
}

interface Profile {
  readonly experiments: readonly { readonly requests: readonly object[] }[];
}

function difference(what: string, theirs: readonly string[], ours: readonly string[]): readonly string[] {
  const only = (these: readonly string[], those: readonly string[]): readonly string[] =>
    these.filter((one) => !those.includes(one));
  const missing = only(theirs, ours).map((one) => `only perf_analyzer's ${what}: ${one}`);
  const more = only(ours, theirs).map((one) => `only our ${what}: ${one}`);
  if (missing.length + more.length > 0 || theirs.join("\n") === ours.join("\n")) return [...missing, ...more];
  return [`the order or number of each ${what} differs:\n${theirs.join("\n")}\n---\n${ours.join("\n")}`];
}
