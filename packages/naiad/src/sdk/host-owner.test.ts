import type { SpawnedWorker } from "@naiad/runtime/platform";
import { memoryLocks, pairedEndpoints } from "@naiad/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { OwnedHost } from "./host-owner.ts";
import { startHost } from "./host-owner.ts";
import { resolveSettings } from "./start-options.ts";

const SETTINGS = resolveSettings({ modelRepository: "models" }, "https://example.test/");
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
});
