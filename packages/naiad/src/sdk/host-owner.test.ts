import { exposeControl, holdAlive } from "@naiad/link";
import type { HostControl } from "@naiad/runtime/contracts";
import { aliveLock, WIRE_VERSION } from "@naiad/runtime/contracts";
import type { SpawnedWorker } from "@naiad/runtime/platform";
import { memoryLocks, pairedEndpoints } from "@naiad/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { OwnedHost } from "./host-owner.ts";
import { startHost } from "./host-owner.ts";
import { resolveSettings } from "./start-settings.ts";

const SETTINGS = resolveSettings({ modelRepository: "models" }, "https://example.test/");
const CAPABILITIES = {
  gpus: [],
  crossOriginIsolated: true,
  hardwareConcurrency: 1,
  wasmMemoryLimitBytes: 2 ** 32,
};
const SCRIPT = "https://example.test/naiad/workers/host.js";

/** Starts a host whose worker never answers; it fails when it is told to. */
function startSilentHost() {
  let fail: ((reason: string) => void) | undefined;
  const failed = new Promise<string>((resolve) => {
    fail = resolve;
  });
  const seen = { urls: [] as string[], terminated: 0 };
  const host: Promise<OwnedHost> = startHost({
    settings: SETTINGS,
    locks: memoryLocks(),
    filesUrl: undefined,
    successorOf: undefined,
    spawner: {
      spawn(url): SpawnedWorker {
        seen.urls.push(url);
        return {
          endpoint: pairedEndpoints().left,
          failed,
          terminate: () => {
            seen.terminated += 1;
          },
        };
      },
    },
  });
  return { host, seen, fail: (reason: string) => fail?.(reason) };
}

/** Starts a host that does as it is told, except for what `change` says. */
async function startServingHost(change: (letGo: () => void) => Partial<HostControl>): Promise<OwnedHost> {
  const locks = memoryLocks();
  const { left, right } = pairedEndpoints();
  let letGo = (): void => undefined;
  const control: HostControl = {
    start: async ({ hostId, options }) => {
      letGo = await holdAlive(locks, aliveLock(hostId));
      return { hostId, wireVersion: WIRE_VERSION, options, capabilities: CAPABILITIES };
    },
    ready: () => Promise.resolve(undefined),
    attach: () => Promise.resolve(),
    connectTunnel: () => Promise.resolve(),
    log: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    ...change(() => {
      letGo();
    }),
  };
  exposeControl(control, right, { wireVersion: WIRE_VERSION });
  const worker: SpawnedWorker = {
    endpoint: left,
    failed: new Promise(() => undefined),
    terminate: () => undefined,
  };
  return await startHost({
    settings: SETTINGS,
    locks,
    spawner: { spawn: () => worker },
    filesUrl: undefined,
    successorOf: undefined,
  });
}

afterEach(() => {
  vi.useRealTimers();
});

describe("startHost", () => {
  it("rejects with the reason and the address of a script that does not load", async () => {
    const { host, seen, fail } = startSilentHost();
    fail("its script could not be loaded");
    await expect(host).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: `the host worker '${SCRIPT}' failed: its script could not be loaded`,
    });
    expect(seen).toEqual({ urls: [SCRIPT], terminated: 1 });
  });

  it("does not wait for ever for a script that says nothing", async () => {
    vi.useFakeTimers();
    const { host, seen } = startSilentHost();
    const refused = expect(host).rejects.toThrow("the host worker did not start within 30 s");
    await vi.advanceTimersByTimeAsync(30_000);
    await refused;
    expect(seen.terminated).toBe(1);
  });

  it("has stopped a host whose lock is free before its answer is here", async () => {
    const host = await startServingHost((letGo) => ({
      stop: () => {
        letGo();
        return new Promise(() => undefined);
      },
    }));
    await host.stop();
    expect(host.lost.aborted).toBe(true);
  });

  it("ends a host that does not stop in time", async () => {
    const host = await startServingHost(() => ({ stop: () => new Promise(() => undefined) }));
    vi.useFakeTimers();
    const stopped = host.stop();
    await vi.advanceTimersByTimeAsync(40_000);
    await stopped;
    expect(host.lost.reason).toMatchObject({ message: "the host worker did not stop within 40 s" });
  });

  it("says what a host could not do when it stopped", async () => {
    const host = await startServingHost(() => ({ stop: () => Promise.reject(new Error("cannot drain")) }));
    await expect(host.stop()).rejects.toThrow("cannot drain");
    expect(host.lost.aborted).toBe(true);
  });
});
