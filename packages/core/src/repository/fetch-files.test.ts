import { InferenceError } from "@naiad/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CHUNK_SIZE, type FileStore, type RepositorySource } from "../ports.ts";
import type { Repository } from "../../test/repository-of-files.ts";
import {
  bytesOf,
  contentOf,
  expectContents,
  options,
  repositoryOf,
  sampling,
  sourceOf,
} from "../../test/repository-of-files.ts";
import { fetchModelFiles, type FileProgress } from "./fetch-files.ts";
import { createMemoryFileStore } from "./memory-file-store.ts";

describe("fetchModelFiles", () => {
  it("streams each file with one read and gives back its bytes, whole and in ranges", async () => {
    const content = contentOf([1, 2, 3], 1000);
    const repository = await repositoryOf({ "1/model.onnx": content, "empty.txt": new Uint8Array() });
    const source = sourceOf(repository);
    const files = await fetchModelFiles(options(repository, { source }));

    expect(source.reads).toEqual([{ path: "1/model.onnx", start: 0, end: content.length }]);
    expectContents(await files.read("1/model.onnx"), content);
    expect(await files.read("empty.txt")).toEqual(new Uint8Array());
    const across = { start: CHUNK_SIZE - 5, end: 2 * CHUNK_SIZE + 7 };
    expectContents(await files.read("1/model.onnx", across), content.subarray(across.start, across.end));
    expect(await files.read("1/model.onnx", { start: 9, end: 9 })).toEqual(new Uint8Array());
    await expect(files.read("2/model.onnx")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("reports progress up to the size of every file, and stored files as whole", async () => {
    const repository = await repositoryOf({ a: contentOf([1, 2], 100) });
    const store = createMemoryFileStore();
    const first: FileProgress[] = [];
    await fetchModelFiles(options(repository, { store, onProgress: (event) => first.push(event) }));
    const downloads = first.filter(({ phase }) => phase === "download").map((event) => event.loadedBytes);
    expect(downloads).toEqual([...downloads].sort((a, b) => a - b));
    expect(downloads.at(-1)).toBe(CHUNK_SIZE + 100);
    expect(first.at(-1)).toEqual({
      path: "a",
      phase: "verify",
      loadedBytes: CHUNK_SIZE + 100,
      totalBytes: CHUNK_SIZE + 100,
      modelLoadedBytes: CHUNK_SIZE + 100,
      modelTotalBytes: CHUNK_SIZE + 100,
    });

    const second: FileProgress[] = [];
    await fetchModelFiles(options(repository, { store, onProgress: (event) => second.push(event) }));
    expect(second).toEqual([first.at(-1)]);
  });

  it("reports the progress of all files together", async () => {
    const repository = await repositoryOf({ a: contentOf([1], 100), b: contentOf([2], 50) });
    const events: FileProgress[] = [];
    await fetchModelFiles(options(repository, { onProgress: (event) => events.push(event) }));
    const sums = events.map(({ modelLoadedBytes }) => modelLoadedBytes);
    expect(sums).toEqual([...sums].sort((a, b) => a - b));
    expect(new Set(events.map(({ modelTotalBytes }) => modelTotalBytes))).toEqual(new Set([sums.at(-1)]));
    const wholeFiles = events.filter(({ phase }) => phase === "verify");
    expect(wholeFiles.map(({ path, modelLoadedBytes }) => [path, modelLoadedBytes])).toEqual([
      ["a", events[0]?.totalBytes],
      ["b", sums.at(-1)],
    ]);
  });

  it("does not download content that another file or version brought", async () => {
    const old = await repositoryOf({ "1/model.onnx": contentOf([1, 2, 3, 4], CHUNK_SIZE) });
    const store = createMemoryFileStore();
    await fetchModelFiles(options(old, { store }));

    const content = contentOf([1, 9, 3, 8, 7, 9], 50);
    const updated = await repositoryOf({ "2/model.onnx": content });
    const source = sourceOf(updated);
    const files = await fetchModelFiles(options(updated, { store, source }));
    expect(source.reads.map(({ start, end }) => [start / CHUNK_SIZE, (end - 50) / CHUNK_SIZE])).toEqual([
      [1, 2 - 50 / CHUNK_SIZE],
      [3, 5],
    ]);
    expectContents(await files.read("2/model.onnx"), content);
  });

  it("downloads again what vanished behind the record's back", async () => {
    const repository = await repositoryOf({ a: contentOf([1, 2, 3], 10) });
    const store = createMemoryFileStore();
    await fetchModelFiles(options(repository, { store }));
    const lost = repository.model.files[0]?.chunks[1];
    let isLost = true;
    const damaged: FileStore = {
      ...store,
      hasChunk: async (sha256) => !(isLost && sha256 === lost) && (await store.hasChunk(sha256)),
      putChunk(sha256, bytes) {
        isLost = false;
        return store.putChunk(sha256, bytes);
      },
    };
    const source = sourceOf(repository);
    await fetchModelFiles(options(repository, { store: damaged, source }));
    expect(source.reads).toEqual([{ path: "a", start: CHUNK_SIZE, end: 2 * CHUNK_SIZE }]);
  });

  it("refuses a path that the model does not have", async () => {
    const repository = await repositoryOf({ a: contentOf([1], 10) });
    await expect(fetchModelFiles(options(repository, { paths: ["b"] }))).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: "no file 'b' in model 'm' of the model repository",
    });
  });
});

describe("a store without room", () => {
  it("is replaced by memory for the rest of the model, says so, and keeps no record", async () => {
    const contents = { a: contentOf([1], 10), b: contentOf([2, 3], 10) };
    const repository = await repositoryOf(contents);
    const inner = createMemoryFileStore();
    let room = 2;
    const full: FileStore = {
      ...inner,
      location: { kind: "indexeddb", name: "full" },
      putChunk: (sha256, bytes) =>
        room-- > 0
          ? inner.putChunk(sha256, bytes)
          : Promise.reject(new InferenceError("UNAVAILABLE", "storage quota exceeded")),
    };
    const lines: string[] = [];
    const logger = { log: (_level: string, message: string) => void lines.push(message) };
    const files = await fetchModelFiles(options(repository, { store: full, logger }));

    expect(files.location).toEqual({ kind: "memory" });
    expectContents(await files.read("a"), contents.a);
    expectContents(await files.read("b"), contents.b);
    expect((await inner.files()).map(({ sha256 }) => sha256)).toEqual([repository.model.files[0]?.sha256]);
    expect(lines).toEqual(["model 'm' runs from memory, not from storage: storage quota exceeded"]);
  });

  it("that fails otherwise fails the load, without another download", async () => {
    const repository = await repositoryOf({ a: contentOf([1], 10) });
    const store: FileStore = {
      ...createMemoryFileStore(),
      putChunk: () => Promise.reject(new Error("disk on fire")),
    };
    const source = sourceOf(repository);
    await expect(fetchModelFiles(options(repository, { store, source }))).rejects.toThrow("disk on fire");
    expect(source.reads).toHaveLength(1);
  });
});

describe("stored files", () => {
  it("that were cut are reported and forgotten, so that the next load heals them", async () => {
    const content = contentOf([1, 2], 10);
    const repository = await repositoryOf({ a: content });
    const store = createMemoryFileStore();
    const files = await fetchModelFiles(options(repository, { store }));
    await store.putChunk(repository.model.files[0]?.chunks[1] ?? "", new Uint8Array(3));
    await store.putFile({ ...(await store.files())[0] } as never);

    await expect(files.read("a")).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message:
        "the stored copy of file 'a' is damaged (chunk 2 of 2); load the model again to download it anew",
    });
    const healed = await fetchModelFiles(options(repository, { store }));
    expectContents(await healed.read("a"), content);
  });
});

/** Fails the `crashAt`-th step of the store or source, before or after it took effect, and every later one. */
function crashing(
  repository: Repository,
  inner: FileStore,
  crash: { readonly at: number; readonly when: "before" | "after" },
): { store: FileStore; source: RepositorySource; signal: AbortSignal; steps: () => number } {
  const controller = new AbortController();
  let steps = 0;
  async function step<T>(run: () => Promise<T>): Promise<T> {
    const isCrash = steps++ === crash.at;
    if (isCrash && crash.when === "before") controller.abort(new Error("crash"));
    controller.signal.throwIfAborted();
    const result = await run();
    if (isCrash) controller.abort(new Error("crash"));
    controller.signal.throwIfAborted();
    return result;
  }
  const store: FileStore = {
    ...inner,
    hasChunk: (sha256) => step(() => inner.hasChunk(sha256)),
    putChunk: (sha256, bytes) => step(() => inner.putChunk(sha256, bytes)),
    getFile: (sha256) => step(() => inner.getFile(sha256)),
    putFile: (file) => step(() => inner.putFile(file)),
  };
  const source = sourceOf(repository, (piece) => {
    if (steps++ === crash.at) controller.abort(new Error("crash"));
    return piece;
  });
  return { store, source, signal: controller.signal, steps: () => steps };
}

describe("a crash at any step", () => {
  it("leaves nothing that counts as whole and is not, and the next run brings only what is missing", async () => {
    const tags = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(
        tags,
        tags,
        fc.integer({ min: 1, max: 3 * 1024 * 1024 }),
        fc.nat({ max: 60 }),
        fc.constantFrom("before" as const, "after" as const),
        async (tagsA, tagsB, tailBytes, at, when) => {
          const repository = await repositoryOf({
            "1/model.onnx": contentOf(tagsA, tailBytes),
            "1/model.onnx.data": contentOf(tagsB, tailBytes),
          });
          const inner = createMemoryFileStore();
          const crashed = crashing(repository, inner, { at, when });
          const outcome = await fetchModelFiles(options(repository, crashed)).then(
            () => "completed",
            (error: unknown) => String(error),
          );
          expect(outcome).toBe(crashed.steps() > at ? "Error: crash" : "completed");

          for (const file of repository.model.files) {
            if ((await inner.getFile(file.sha256)) === undefined) continue;
            for (const sha256 of file.chunks) {
              const bytes = await inner.getChunk(sha256);
              expect(bytes === undefined ? undefined : await sampling.sha256(bytes)).toBe(sha256);
            }
          }

          const missing = new Map<string, number>();
          for (const file of repository.model.files) {
            for (const [i, sha256] of file.chunks.entries()) {
              if (!(await inner.hasChunk(sha256))) {
                missing.set(sha256, Math.min(CHUNK_SIZE, file.size - i * CHUNK_SIZE));
              }
            }
          }
          const source = sourceOf(repository);
          const files = await fetchModelFiles(options(repository, { store: inner, source }));
          expect(bytesOf(source.reads)).toBe([...missing.values()].reduce((a, b) => a + b, 0));
          for (const [path, content] of repository.contents) expectContents(await files.read(path), content);
        },
      ),
      { numRuns: 60, seed: 20260 },
    );
  });
});
