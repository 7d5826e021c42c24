/** Ticks of all cores together since the machine started; of what they are does not matter. */
export interface CpuTimes {
  readonly busy: number;
  readonly idle: number;
}

export interface MemoryUse {
  readonly totalBytes: number;
  readonly usedBytes: number;
}

/**
 * Of `/proc/stat`, as Triton adds them up: waiting for a disk is idle, time that the hypervisor took is busy, and that of guests
 * stands among `user` and `nice` already.
 */
export function parseProcStat(text: string): CpuTimes | undefined {
  const [, numbers] = /^cpu +([\d ]+)$/m.exec(text) ?? [];
  if (numbers === undefined) return undefined;
  const [user = 0, nice = 0, system = 0, idle = 0, ioWait = 0, irq = 0, softIrq = 0, steal = 0] = numbers
    .trim()
    .split(/ +/)
    .map(Number);
  return { busy: user + nice + system + irq + softIrq + steal, idle: idle + ioWait };
}

export interface CoreTimes {
  readonly times: Readonly<Record<"user" | "nice" | "sys" | "idle" | "irq", number>>;
}

/** Of `os.cpus()`, for systems without `/proc`. */
export function sumCores(cores: readonly CoreTimes[]): CpuTimes {
  let busy = 0;
  let idle = 0;
  for (const { times } of cores) {
    busy += times.user + times.nice + times.sys + times.irq;
    idle += times.idle;
  }
  return { busy, idle };
}

/** 0 to 1; `undefined` where no time has passed. */
export function cpuUtilization(before: CpuTimes, now: CpuTimes): number | undefined {
  const busy = Math.max(0, now.busy - before.busy);
  const all = busy + Math.max(0, now.idle - before.idle);
  return all === 0 ? undefined : busy / all;
}

/** Of `/proc/meminfo`. Used is, as in Triton, what programs could not have: caches that the system would give up are not. */
export function parseMeminfo(text: string): MemoryUse | undefined {
  const total = kibibytes(text, "MemTotal");
  const available = kibibytes(text, "MemAvailable");
  if (total === undefined || available === undefined || available > total) return undefined;
  return { totalBytes: total * 1024, usedBytes: (total - available) * 1024 };
}

function kibibytes(text: string, name: string): number | undefined {
  const [, number] = new RegExp(`^${name}: +(\\d+) kB$`, "m").exec(text) ?? [];
  return number === undefined ? undefined : Number(number);
}
