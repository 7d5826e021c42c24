import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { availableParallelism } from "node:os";

/** A run of a program that measures a server, and what of the processor it used itself. */
export interface ClientRun {
  readonly inferencesPerSecond: number;
  /** Half of the requests took no longer: what else a busy machine does falls on the other half first. */
  readonly medianUs: number;
  /** Of one processor, without the start of the program. */
  readonly cpuShare: number;
  /** Of the whole machine, over the same time. */
  readonly machineShare: number;
}

export interface ClientProgram {
  readonly path: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Linux counts processor time in these. */
const TICK_SECONDS = 0.01;
const SAMPLE_MS = 200;
/** The start of a program, and the compiling of JavaScript in it, is not what is compared. */
const START_MS = 1500;

/** Runs it to its end. Rejects where it fails or reports no level. */
export async function runClient({ args, env, path }: ClientProgram): Promise<ClientRun> {
  const child = spawn(path, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (text: Buffer) => (output += text.toString()));
  child.stderr.on("data", (text: Buffer) => (output += text.toString()));
  const state = { isOver: false };
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      state.isOver = true;
      resolve(code);
    });
  });
  const samples = await watchTimes(child.pid ?? 0, () => state.isOver);
  const code = await ended;
  const [, throughput] = /throughput: ([\d.]+) infer\/sec, latency \d+ usec\s*$/m.exec(output) ?? [];
  const [, medianUs] = /p50 latency: (\d+) usec/.exec(output) ?? [];
  if (code !== 0 || throughput === undefined || medianUs === undefined)
    throw new Error(`${path} ${args.join(" ")} ended with ${String(code)}\n${output}`);
  return {
    inferencesPerSecond: Number(throughput),
    medianUs: Number(medianUs),
    ...sharesOf(samples),
  };
}

interface Times {
  readonly atMs: number;
  readonly processTicks: number;
  readonly busyTicks: number;
}

async function watchTimes(pid: number, isOver: () => boolean): Promise<readonly Times[]> {
  const samples: Times[] = [];
  await sleep(START_MS);
  while (!isOver()) {
    const times = await timesOf(pid).catch(() => undefined);
    if (times !== undefined) samples.push(times);
    await sleep(SAMPLE_MS);
  }
  return samples;
}

async function timesOf(pid: number): Promise<Times> {
  const [own, machine] = await Promise.all([
    readFile(`/proc/${String(pid)}/stat`, "utf8"),
    readFile("/proc/stat", "utf8"),
  ]);
  // The name of the program, in brackets, may hold anything.
  const fields = own.slice(own.lastIndexOf(")") + 2).split(" ");
  const [user = 0, nice = 0, system = 0] = (/^cpu +(.*)$/m.exec(machine)?.[1] ?? "").split(" ").map(Number);
  return {
    atMs: performance.now(),
    processTicks: Number(fields[11]) + Number(fields[12]),
    busyTicks: user + nice + system,
  };
}

function sharesOf(samples: readonly Times[]): Pick<ClientRun, "cpuShare" | "machineShare"> {
  const [first] = samples;
  const last = samples.at(-1);
  if (first === undefined || last === undefined || first === last) return { cpuShare: 0, machineShare: 0 };
  const seconds = (last.atMs - first.atMs) / 1000;
  return {
    cpuShare: ((last.processTicks - first.processTicks) * TICK_SECONDS) / seconds,
    machineShare: ((last.busyTicks - first.busyTicks) * TICK_SECONDS) / seconds / availableParallelism(),
  };
}
