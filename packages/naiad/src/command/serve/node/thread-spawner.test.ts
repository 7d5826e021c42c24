import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { LocalLocks } from "@naiad/link";
import { createLocalLocks } from "@naiad/link";
import type { SpawnedWorker } from "@naiad/runtime/platform";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createThreadSpawner } from "./thread-spawner.ts";

let folder: string;
let locks: LocalLocks;
const spawned: SpawnedWorker[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "naiad-thread-"));
  locks = createLocalLocks();
});
afterEach(async () => {
  for (const worker of spawned.splice(0)) worker.terminate();
  await rm(folder, { recursive: true });
});

/** A thread with this script, which has `host`, its end of the endpoint. */
async function thread(script: string): Promise<SpawnedWorker> {
  const file = join(folder, "script.mjs");
  await writeFile(
    file,
    `import { workerData } from "node:worker_threads";\nconst { host } = workerData;\n${script}`,
  );
  const worker = createThreadSpawner(locks).spawn(pathToFileURL(file).href, "naiad x");
  spawned.push(worker);
  return worker;
}

function nextMessage({ endpoint }: SpawnedWorker): Promise<unknown> {
  return new Promise((resolve) => {
    endpoint.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
      resolve(data);
    });
    endpoint.start?.();
  });
}

describe("threads as workers", () => {
  it("talk over their endpoint, and see nothing of the environment", async () => {
    const worker = await thread(
      'host.on("message", (text) => host.postMessage([text, Object.keys(process.env), process.execArgv]));',
    );
    worker.endpoint.postMessage("hello", []);
    expect(await nextMessage(worker)).toEqual(["hello", [], []]);
  });

  it("fail with what they threw", async () => {
    const worker = await thread('throw new Error("no engine");');
    expect(await worker.failed).toBe("no engine");
  });

  it("fail where they end by themselves", async () => {
    const worker = await thread("process.exit(3);");
    expect(await worker.failed).toBe("its thread ended with code 3");
  });

  it("fail where there is no script, or no address of one", async () => {
    const none = createThreadSpawner(locks).spawn(pathToFileURL(join(folder, "none.mjs")).href, "x");
    expect(await none.failed).toContain("none.mjs");
    const odd = createThreadSpawner(locks).spawn("nonsense", "x");
    odd.terminate();
    expect(await odd.failed).toContain("Invalid URL");
  });

  it("are ended in the middle of whatever they do, which is no failure of theirs", async () => {
    const worker = await thread('host.postMessage("up"); for (;;);');
    await nextMessage(worker);
    worker.terminate();
    worker.terminate();
    const first = await Promise.race([
      worker.failed,
      new Promise((resolve) => setTimeout(resolve, 200, "quiet")),
    ]);
    expect(first).toBe("quiet");
  });

  /** Threads of a busy machine take their time. */
  const SOON = { timeout: 10_000 };

  it("give their locks back when they end", async () => {
    const worker = await thread(`
      workerData.locks.postMessage(["call", 1, "request", { id: 1, name: "a", mode: "exclusive", ifAvailable: false }]);
      host.on("message", () => {}); // A thread that listens to nobody ends by itself.
      host.postMessage("up");`);
    await nextMessage(worker);
    await expect.poll(() => locks.heldNames(), SOON).toEqual(["a"]);
    worker.terminate();
    await expect.poll(() => locks.heldNames(), SOON).toEqual([]);
  });
});
