import {
  createMemoryFileStore,
  fetchModelFiles,
  type ManifestModel,
  type RepositorySource,
} from "@naiad/core";
import { memoryLocks } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { lockDownloads } from "./lock-downloads.ts";

const { signal } = new AbortController();

describe("lockDownloads", () => {
  it("lets one task run per content, and others beside it", async () => {
    const lock = lockDownloads(memoryLocks());
    const steps: string[] = [];
    const task = (name: string) => async () => {
      steps.push(`${name} begins`);
      await new Promise((resolve) => setTimeout(resolve, 1));
      steps.push(`${name} ends`);
    };
    await Promise.all([
      lock("a", signal, task("a1")),
      lock("a", signal, task("a2")),
      lock("b", signal, task("b")),
    ]);
    expect(steps.indexOf("a2 begins")).toBeGreaterThan(steps.indexOf("a1 ends"));
    expect(steps.indexOf("b begins")).toBeLessThan(steps.indexOf("a1 ends"));
  });

  it("passes a failure on and frees the lock", async () => {
    const lock = lockDownloads(memoryLocks());
    await expect(lock("a", signal, () => Promise.reject(new Error("offline")))).rejects.toThrow("offline");
    let ran = false;
    await lock("a", signal, () => {
      ran = true;
      return Promise.resolve();
    });
    expect(ran).toBe(true);
  });

  it("stops waiting when aborted", async () => {
    const locks = memoryLocks();
    const lock = lockDownloads(locks);
    let finish = (): void => undefined;
    const first = lock("a", signal, () => new Promise((resolve) => (finish = resolve)));
    const waiting = new AbortController();
    const second = lock("a", waiting.signal, () => Promise.reject(new Error("must not run")));
    waiting.abort();
    await expect(second).rejects.toMatchObject({ name: "AbortError" });
    finish();
    await first;
    expect(locks.heldNames()).toEqual([]);
  });

  it("makes two tabs that load one model download it once", async () => {
    const locks = memoryLocks();
    const store = createMemoryFileStore();
    const digest = { sha256: (bytes: Uint8Array) => Promise.resolve(bytes.join("-")) };
    const model: ManifestModel = {
      name: "m",
      directories: [],
      files: [{ path: "a", size: 3, sha256: "file", chunks: ["1-2-3"] }],
    };
    let reads = 0;
    const source: RepositorySource = {
      id: "test",
      manifest: () => Promise.resolve({ models: [model] }),
      async *read() {
        reads += 1;
        await new Promise((resolve) => setTimeout(resolve, 1));
        yield Uint8Array.of(1, 2, 3);
      },
    };
    const tab = () =>
      fetchModelFiles({
        model,
        paths: ["a"],
        source,
        store,
        digest,
        clock: { nowNs: () => 0, epochMs: () => 0, resolutionNs: 1, after: () => () => undefined },
        logger: { log: () => undefined },
        lock: lockDownloads(locks),
        signal,
        onProgress: () => undefined,
      });
    const files = await Promise.all([tab(), tab()]);
    expect(await files[1].read("a")).toEqual(Uint8Array.of(1, 2, 3));
    expect(reads).toBe(1);
  });

  it("does without locks where there are none", async () => {
    let ran = false;
    await lockDownloads(undefined)("a", signal, () => {
      ran = true;
      return Promise.resolve();
    });
    expect(ran).toBe(true);
  });
});
