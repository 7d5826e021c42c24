import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createMachineReader } from "./machine-reader.ts";
import { machineSources } from "./machine-sources.ts";
import { createNvidiaSmi } from "./run-nvidia-smi.ts";
import { watchMachine } from "./watch-machine.ts";

const NEVER = new AbortController().signal;
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "naiad-machine-"));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

/** A program of this name on the path, with nothing else there. */
async function program(script: string): Promise<NodeJS.ProcessEnv> {
  const file = join(directory, "nvidia-smi");
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o755);
  return { PATH: directory };
}

describe("nvidia-smi", () => {
  it("is asked anew for each reading", async () => {
    const environment = await program(
      `printf x >> "${directory}/calls"; read -r calls < "${directory}/calls"; echo "GPU-1, \${#calls}, 10, 5, 1.5, 2.00"`,
    );
    const read = createNvidiaSmi({ environment, nowMs: () => 0, signal: NEVER });
    expect(await read()).toMatchObject([{ uuid: "GPU-1", utilization: 0.01, powerUsageWatts: 1.5 }]);
    expect(await read()).toMatchObject([{ uuid: "GPU-1", utilization: 0.02 }]);
  });

  it("that is not there is not looked for again", async () => {
    const read = createNvidiaSmi({ environment: { PATH: directory }, nowMs: () => 0, signal: NEVER });
    expect(await read()).toEqual([]);
    await program('echo "GPU-1, 1, 10, 5, 1.5, 2.00"');
    expect(await read()).toEqual([]);
  });

  it("that fails is asked again after a pause", async () => {
    let nowMs = 0;
    const environment = await program("exit 9");
    const read = createNvidiaSmi({ environment, pauseMs: 1000, nowMs: () => nowMs, signal: NEVER });
    expect(await read()).toEqual([]);
    await program('echo "GPU-1, 1, 10, 5, 1.5, 2.00"');
    nowMs = 999;
    expect(await read()).toEqual([]);
    nowMs = 1000;
    expect(await read()).toHaveLength(1);
  });

  it("that left a program behind which holds its output keeps nobody waiting", async () => {
    const ended = join(directory, "ended");
    const environment = await program(
      `(/bin/sleep 2; echo x > "${ended}") &\necho "GPU-1, 1, 10, 5, 1.5, 2.00"`,
    );
    const read = createNvidiaSmi({ environment, timeoutMs: 50, nowMs: () => 0, signal: NEVER });
    const resources = (): number =>
      process.getActiveResourcesInfo().filter((kind) => /Pipe|Process/.test(kind)).length;
    const before = resources();
    expect(await read()).toEqual([]);
    await expect.poll(resources).toBe(before);
    expect(existsSync(ended)).toBe(false);
  });

  it("that does not answer is given up and ended", async () => {
    const environment = await program("exec /bin/sleep 600");
    const read = createNvidiaSmi({ environment, timeoutMs: 50, nowMs: () => 0, signal: NEVER });
    expect(await read()).toEqual([]);
  });

  it("is ended with the server", async () => {
    const environment = await program("exec /bin/sleep 600");
    const ending = new AbortController();
    const read = createNvidiaSmi({ environment, nowMs: () => 0, signal: ending.signal });
    const reading = read();
    ending.abort();
    expect(await reading).toEqual([]);
    expect(await read()).toEqual([]);
  });
});

describe("this machine", () => {
  const cpuAlone = { cpu: "told", gpu: "left out", signal: NEVER, environment: {} } as const;

  it.each([process.platform, "darwin"] as const)(
    "tells of its cores and memory as %s does",
    async (platform) => {
      const reader = createMachineReader(machineSources({ ...cpuAlone, platform }));
      const { cpu } = await reader.read();
      expect(cpu?.memoryTotalBytes).toBeGreaterThan(2 ** 28);
      expect(cpu?.memoryUsedBytes).toBeGreaterThan(2 ** 20);
      expect(cpu?.memoryUsedBytes).toBeLessThan(cpu?.memoryTotalBytes ?? 0);
    },
  );

  it("tells only what is wanted", async () => {
    const sources = machineSources({ ...cpuAlone, cpu: "left out", platform: process.platform });
    expect(await createMachineReader(sources).read()).toEqual({});
  });
});

describe("the watch", () => {
  it("tells at once, then once per interval, whatever becomes of it, until it is called off", async () => {
    const over = new AbortController();
    let told = 0;
    await watchMachine({
      reader: { read: () => Promise.resolve({ gpus: [] }) },
      intervalMs: 1,
      tell: () => {
        told += 1;
        if (told === 3) over.abort();
        return Promise.reject(new Error("nobody is there"));
      },
      signal: over.signal,
    });
    expect(told).toBe(3);
  });

  it("waits as long as a timer can where an interval is longer", async () => {
    const over = new AbortController();
    let told = 0;
    const watching = watchMachine({
      reader: { read: () => Promise.resolve({}) },
      intervalMs: 1e12,
      tell: () => {
        told += 1;
        return Promise.resolve();
      },
      signal: over.signal,
    });
    await sleep(50);
    over.abort();
    await watching;
    expect(told).toBe(1);
  });
});
