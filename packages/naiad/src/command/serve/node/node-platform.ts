import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLocalLocks } from "@naiad/link";
import { probeCapabilities, randomId } from "@naiad/runtime/platform";
import type { HostPlatform } from "@naiad/runtime/in-process";
import { createDigest } from "@naiad/runtime/in-process";
import { createNodeClock } from "../../perf/node-clock.ts";
import { createCodeDirectory } from "./code-directory.ts";
import { createDirectorySource } from "./directory-source.ts";
import { openDiskStore } from "./disk-file-store.ts";
import { memoryBytes } from "./machine-memory.ts";
import { createRepositoryFiles, withRepositoryFiles } from "./repository-files.ts";
import { createThreadSpawner } from "./thread-spawner.ts";

/** A thread of Node.js as the place a host runs in. Whatever it keeps lies in `directory`. */
export function nodePlatform(directory: string): HostPlatform {
  const clock = createNodeClock();
  const locks = createLocalLocks();
  const { subtle } = crypto;
  const digest = createDigest(subtle);
  const repository = createRepositoryFiles(digest);
  return {
    clock,
    locks,
    spawner: createThreadSpawner(locks),
    subtle,
    hasJspi: false,
    compileModule: async (url, signal) => WebAssembly.compile(await readFile(fileURLToPath(url), { signal })),
    newId: randomId,
    // Through the tunnel the command hears every line.
    writeLog: () => undefined,
    serveFiles: createCodeDirectory(join(directory, "code"), digest),
    probe: () =>
      probeCapabilities({
        navigator: { hardwareConcurrency: availableParallelism(), deviceMemory: memoryBytes() / 1024 ** 3 },
        // Threads of one process share memory.
        crossOriginIsolated: true,
        clock,
      }),
    openStore: async () => withRepositoryFiles(await openDiskStore(join(directory, "store")), repository),
    openSource: ({ url }, _store, logger) =>
      createDirectorySource(fileURLToPath(url), {
        files: repository,
        onWarning: (message) => {
          logger.log("warning", message);
        },
      }),
  };
}
