import { cpus } from "node:os";
import { describe, expect, it } from "vitest";
import { cpuUtilization, parseMeminfo, parseProcStat, sumCores } from "./cpu-metrics.ts";

const STAT = `cpu  4705 356 584 3699 23 12 7 30 11 2
cpu0 2352 178 292 1850 11 6 3 15 5 1
cpu1 2353 178 292 1849 12 6 4 15 6 1
intr 1462898 0 9
ctxt 2783498
`;

const MEMINFO = `MemTotal:       16267332 kB
MemFree:         1079784 kB
MemAvailable:    9312284 kB
Buffers:          411944 kB
Cached:          7540964 kB
HugePages_Total:       0
`;

describe("/proc/stat", () => {
  it("gives the sums of all cores: guests once, waiting for disks as idle", () => {
    expect(parseProcStat(STAT)).toEqual({ busy: 4705 + 356 + 584 + 12 + 7 + 30, idle: 3699 + 23 });
  });

  it("of an old kernel has fewer columns", () => {
    expect(parseProcStat("cpu  10 20 30 40\n")).toEqual({ busy: 60, idle: 40 });
  });

  it.each(["", "cpu0 1 2 3 4\n", "intr 5\n"])("without the line of all cores tells nothing: %j", (text) => {
    expect(parseProcStat(text)).toBeUndefined();
  });
});

describe("/proc/meminfo", () => {
  it("counts as used what programs could not have", () => {
    expect(parseMeminfo(MEMINFO)).toEqual({
      totalBytes: 16_267_332 * 1024,
      usedBytes: (16_267_332 - 9_312_284) * 1024,
    });
  });

  it.each(["", "MemTotal: 5 kB\n", "MemTotal:  5 kB\nMemAvailable:  6 kB\n"])(
    "that makes no sense tells nothing: %j",
    (text) => {
      expect(parseMeminfo(text)).toBeUndefined();
    },
  );
});

describe("the utilization", () => {
  it("is the share of the time that passed between two readings", () => {
    expect(cpuUtilization({ busy: 100, idle: 900 }, { busy: 130, idle: 970 })).toBe(0.3);
    expect(cpuUtilization({ busy: 100, idle: 900 }, { busy: 100, idle: 901 })).toBe(0);
  });

  it("of no time is unknown, and times that went back count as none", () => {
    expect(cpuUtilization({ busy: 100, idle: 900 }, { busy: 100, idle: 900 })).toBeUndefined();
    expect(cpuUtilization({ busy: 100, idle: 900 }, { busy: 110, idle: 850 })).toBe(1);
  });

  it("of the cores that Node tells of adds up", () => {
    const times = { user: 1, nice: 2, sys: 3, idle: 4, irq: 5 };
    expect(sumCores([{ times }, { times }])).toEqual({ busy: 22, idle: 8 });
    expect(sumCores(cpus()).busy).toBeGreaterThan(0);
  });
});
