import { readdir, readFile } from "node:fs/promises";
import { cpus, freemem, totalmem } from "node:os";
import { parseMeminfo, parseProcStat, sumCores } from "./cpu-metrics.ts";
import type { MachineSources } from "./machine-reader.ts";
import { createNvidiaSmi } from "./run-nvidia-smi.ts";
import type { FileTree } from "./sysfs-gpus.ts";
import { readSysfsGpus } from "./sysfs-gpus.ts";

export interface MachineSourcesOptions {
  /** What is wanted. */
  readonly cpu: "told" | "left out";
  readonly gpu: "told" | "left out";
  readonly platform: NodeJS.Platform;
  readonly environment: NodeJS.ProcessEnv;
  /** Ends what is under way. */
  readonly signal: AbortSignal;
  /** Default: that of this machine. */
  readonly tree?: FileTree;
}

/** The machine that this process runs on. */
export function machineSources(options: MachineSourcesOptions): MachineSources {
  const { environment, platform, signal, tree = FILES } = options;
  const nowMs = (): number => performance.now();
  const nvidiaSmi = createNvidiaSmi({ environment, nowMs, signal });
  return {
    nowMs,
    ...(options.cpu === "told" && { cpu: () => readCpu(platform, tree) }),
    ...(options.gpu === "told" && {
      gpus: async () => {
        const readings = [nvidiaSmi()];
        if (platform === "linux") readings.push(readSysfsGpus(tree));
        return (await Promise.all(readings)).flat();
      },
    }),
  };
}

const readCpu = async (
  platform: NodeJS.Platform,
  tree: FileTree,
): ReturnType<NonNullable<MachineSources["cpu"]>> => {
  if (platform !== "linux") {
    const totalBytes = totalmem();
    return { times: sumCores(cpus()), memory: { totalBytes, usedBytes: totalBytes - freemem() } };
  }
  const [stat = "", meminfo = ""] = await Promise.all([tree.read("/proc/stat"), tree.read("/proc/meminfo")]);
  return { times: parseProcStat(stat), memory: parseMeminfo(meminfo) };
};

const FILES: FileTree = {
  list: (directory) => readdir(directory).catch(() => []),
  read: (file) => readFile(file, "utf8").catch(() => undefined),
};
