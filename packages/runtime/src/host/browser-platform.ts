import { probeCapabilities } from "../capabilities.ts";
import { randomId } from "../random-id.ts";
import { openFileStore } from "../storage/open-file-store.ts";
import { createUrlSource } from "../storage/url-source.ts";
import { createBrowserClock } from "./browser-clock.ts";
import type { HostPlatform } from "./compose-host.ts";
import { consoleSink } from "./log-book.ts";
import { platformLocks } from "./platform-locks.ts";
import { compileFromUrl } from "./shared-wasm-module.ts";
import { browserSpawner } from "./worker-spawner.ts";

/** A dedicated worker as the place a host runs in. */
export function browserPlatform(scope: DedicatedWorkerGlobalScope): HostPlatform {
  const { navigator } = scope;
  // What the type calls given is absent without a secure context.
  const { subtle }: Partial<Crypto> = scope.crypto;
  const clock = createBrowserClock();
  return {
    clock,
    locks: platformLocks(navigator),
    spawner: browserSpawner,
    subtle,
    hasJspi: "Suspending" in WebAssembly,
    compileModule: compileFromUrl,
    newId: randomId,
    writeLog: consoleSink,
    probe: () => probeCapabilities({ navigator, crossOriginIsolated: scope.crossOriginIsolated, clock }),
    // Given as always there, but absent without a secure context.
    estimateStorage: async () => (navigator as Partial<WorkerNavigator>).storage?.estimate() ?? {},
    openStore: openFileStore,
    openSource: (location, store, logger) =>
      createUrlSource(location, { fetch: (input, init) => scope.fetch(input, init), store, logger }),
  };
}
