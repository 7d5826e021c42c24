import type { FileStore } from "@naiad/core";
import { createMemoryFileStore } from "@naiad/core";
import type { LockManagerLike } from "@naiad/link";
import type { MemoryModel } from "@naiad/testing";
import { createMemoryRepository } from "@naiad/testing";
import type { AssetUrls } from "../src/contracts.ts";
import { createBrowserClock } from "../src/host/browser-clock.ts";
import type { HostPlatform } from "../src/host/compose-host.ts";
import { createDigest } from "../src/host/digest.ts";
import type { WorkerSpawner } from "../src/host/worker-spawner.ts";

/** For what asks no file. */
export const NO_ASSETS: AssetUrls = {
  host: "",
  instanceWasm: "",
  instanceJspi: "",
  instanceAsyncify: "",
  instanceJavascript: "",
  ort: "",
};

interface MemoryPlatformOptions {
  readonly locks: LockManagerLike;
  readonly spawner: WorkerSpawner;
  readonly models: Readonly<Record<string, MemoryModel>>;
  readonly store?: FileStore;
  /** Gets the lines of the log. */
  readonly lines: string[];
}

/** What a host runs on whose repository and store are memory. */
export function memoryPlatform(options: MemoryPlatformOptions): HostPlatform {
  const { lines, locks, models, spawner, store = createMemoryFileStore() } = options;
  let ids = 0;
  return {
    clock: createBrowserClock(),
    locks,
    spawner,
    subtle: crypto.subtle,
    hasJspi: false,
    compileModule: () => Promise.reject(new Error("not in this test")),
    newId: () => `id-${String((ids += 1))}`,
    writeLog: ({ message }) => lines.push(message),
    probe: () =>
      Promise.resolve({
        gpus: [],
        crossOriginIsolated: false,
        hardwareConcurrency: 2,
        wasmMemoryLimitBytes: 2 ** 32,
      }),
    openStore: () => Promise.resolve(store),
    openSource: () => createMemoryRepository(models, { digest: createDigest(crypto.subtle) }),
  };
}
