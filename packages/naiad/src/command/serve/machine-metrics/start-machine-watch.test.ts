import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MachineMetrics } from "@naiad/core";
import type { TunnelAsker, TunnelRequest } from "@naiad/link/tunnel";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { HostState } from "../listen/host-source.ts";
import { PartStack } from "../part-stack.ts";
import { startMachineWatch } from "./start-machine-watch.ts";

let directory: string;
let parts: PartStack;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "naiad-machine-"));
  parts = new PartStack();
});

afterEach(async () => {
  await parts.close();
  await rm(directory, { recursive: true, force: true });
});

/** A host that takes what it is told. */
function host(): { readonly state: HostState; readonly told: MachineMetrics[] } {
  const told: MachineMetrics[] = [];
  const exchange = async ({ protocol, rawTarget, body }: TunnelRequest) => {
    const pieces: Uint8Array[] = [];
    for await (const piece of body) pieces.push(piece);
    expect([protocol, rawTarget]).toEqual(["control", "/machine"]);
    told.push(JSON.parse(Buffer.concat(pieces).toString()) as MachineMetrics);
    return { status: 200, headers: [], body: new Uint8Array(0) };
  };
  const tunnel: TunnelAsker = {
    exchange,
    ping: () => Promise.resolve(),
    close: () => undefined,
    closed: new Promise(() => undefined),
  };
  return { state: { kind: "serving", tunnel }, told };
}

it("tells each host that comes what nvidia-smi and the system say, and ends with the server", async () => {
  const file = join(directory, "nvidia-smi");
  await writeFile(file, '#!/bin/sh\necho "GPU-1, 25, 100, 40, 50.00, 70.00"\n');
  await chmod(file, 0o755);
  let state: HostState = { kind: "absent", reason: "the browser is starting" };
  let restarts = 0;
  startMachineWatch({
    options: { cpu: "told", gpu: "told", intervalMs: 10 },
    environment: { PATH: directory },
    service: {
      source: () => state,
      get restarts() {
        return restarts;
      },
    },
    parts,
  });
  const first = host();
  state = first.state;
  await expect.poll(() => first.told.length).toBeGreaterThan(2);
  const { cpu, gpus, hostRestarts } = first.told.at(-1) ?? {};
  expect(hostRestarts).toBe(0);
  expect(cpu?.memoryTotalBytes).toBeGreaterThan(0);
  expect(gpus?.find(({ uuid }) => uuid === "GPU-1")).toMatchObject({
    utilization: 0.25,
    memoryTotalBytes: 100 * 1024 ** 2,
    memoryUsedBytes: 40 * 1024 ** 2,
    powerUsageWatts: 50,
    powerLimitWatts: 70,
  });
  const energies = first.told.map(
    (machine) => machine.gpus?.find(({ uuid }) => uuid === "GPU-1")?.energyJoules,
  );
  expect(energies.at(-1)).toBeGreaterThan(energies[0] ?? 0);

  const second = host();
  restarts = 1;
  state = second.state;
  await expect.poll(() => second.told.length).toBeGreaterThan(0);
  expect(second.told[0]?.hostRestarts).toBe(1);

  await parts.close();
  const { length } = second.told;
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(second.told).toHaveLength(length);
});
