import { InferenceError } from "@naiad/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ByteRange,
  CHUNK_SIZE,
  type Clock,
  type Digest,
  type FileStore,
  type ManifestModel,
  type ModelFile,
  type RepositorySource,
} from "../ports.ts";
import { fetchModelFiles, type FetchModelFiles, type FileProgress } from "./fetch-files.ts";
import { createMemoryFileStore } from "./memory-file-store.ts";

/** Content is told apart by its length and its first and last bytes: enough here, and quick for chunks of 4 MiB. */
const sampling: Digest = {
  sha256(bytes) {
    const samples = [...bytes.subarray(0, 8), ...bytes.subarray(-8)];
    const hash = samples.reduce((sum, byte) => Math.imul(sum ^ byte, 16777619) >>> 0, bytes.byteLength);
    return Promise.resolve(hash.toString(16).padStart(64, "0"));
  },
};

/** One byte of tag per chunk; equal tags make equal chunks. The last chunk has `tailBytes`. */
function contentOf(tags: readonly number[], tailBytes: number): Uint8Array {
  const size = tags.length === 0 ? 0 : (tags.length - 1) * CHUNK_SIZE + tailBytes;
  const bytes = new Uint8Array(size);
  tags.forEach((tag, i) => (bytes[i * CHUNK_SIZE] = tag));
  return bytes;
}

async function describeFile(path: string, bytes: Uint8Array): Promise<ModelFile> {
  const chunks: string[] = [];
  for (let at = 0; at < bytes.length; at += CHUNK_SIZE) {
    chunks.push(await sampling.sha256(bytes.subarray(at, at + CHUNK_SIZE)));
  }
  return { path, size: bytes.length, sha256: `file-${String(bytes.length)}-${chunks.join()}`, chunks };
}

interface Repository {
  readonly model: ManifestModel;
  readonly contents: ReadonlyMap<string, Uint8Array>;
}

async function repositoryOf(contents: Readonly<Record<string, Uint8Array>>): Promise<Repository> {
  const files = await Promise.all(Object.entries(contents).map(([path, bytes]) => describeFile(path, bytes)));
  return { model: { name: "m", directories: ["1"], files }, contents: new Map(Object.entries(contents)) };
}

interface Read extends ByteRange {
  readonly path: string;
}

/** Serves pieces of 1 MiB; `disturb` may replace or refuse a piece, or fire an abort. */
function sourceOf(
  repository: Repository,
  disturb: (piece: Uint8Array, read: Read, offset: number) => Uint8Array = (piece) => piece,
): RepositorySource & { readonly reads: readonly Read[] } {
  const reads: Read[] = [];
  return {
    id: "http://models.test/",
    reads,
    manifest: () => Promise.resolve({ models: [repository.model] }),
    async *read(_model, path, range, signal) {
      const read = { path, ...range };
      reads.push(read);
      const bytes = repository.contents.get(path);
      if (bytes === undefined) throw new InferenceError("NOT_FOUND", "404");
      for (let at = range.start; at < range.end; at += 1024 * 1024) {
        signal.throwIfAborted();
        const piece = bytes.slice(at, Math.min(at + 1024 * 1024, range.end));
        yield await Promise.resolve(disturb(piece, read, at));
      }
    },
  };
}

/** Wakes back-offs at once and keeps longer watches until `elapse`. */
function impatientClock(): Clock & { readonly delaysNs: readonly number[]; elapse(): void } {
  const delaysNs: number[] = [];
  const watches = new Set<() => void>();
  return {
    delaysNs,
    elapse() {
      for (const wake of watches) wake();
    },
    nowNs: () => 0,
    epochMs: () => 0,
    resolutionNs: 1,
    after(delayNs, wake) {
      const isBackOff = delayNs < 10e9;
      if (isBackOff) {
        delaysNs.push(delayNs);
        queueMicrotask(wake);
      } else watches.add(wake);
      return () => watches.delete(wake);
    },
  };
}

function options(repository: Repository, overrides: Partial<FetchModelFiles> = {}): FetchModelFiles {
  return {
    model: repository.model,
    paths: repository.model.files.map((file) => file.path),
    source: sourceOf(repository),
    store: createMemoryFileStore(),
    digest: sampling,
    clock: impatientClock(),
    logger: { log: () => undefined },
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...overrides,
  };
}

/** A plain loop: matchers and callbacks take seconds for megabytes. */
function firstDifference(actual: Uint8Array, expected: Uint8Array): number | undefined {
  for (let i = 0; i < Math.max(actual.length, expected.length); i++) if (actual[i] !== expected[i]) return i;
  return undefined;
}

function expectContents(actual: Uint8Array, expected: Uint8Array): void {
  expect(firstDifference(actual, expected)).toBeUndefined();
}

const bytesOf = (reads: readonly Read[]): number =>
  reads.reduce((sum, { start, end }) => sum + end - start, 0);

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

describe("a transfer that breaks", () => {
  it("goes on at the byte where it broke, after growing waits", async () => {
    const content = contentOf([1, 2], 2 * 1024 * 1024);
    const repository = await repositoryOf({ a: content });
    let breaks = 0;
    const source = sourceOf(repository, (piece, _read, offset) => {
      if (offset === 3 * 1024 * 1024 && breaks++ < 3) throw new TypeError("network changed");
      return piece;
    });
    const clock = impatientClock();
    const files = await fetchModelFiles(options(repository, { source, clock }));
    expectContents(await files.read("a"), content);
    expect(source.reads.map(({ start }) => start / 1024 / 1024)).toEqual([0, 3, 3, 3]);
    expect(clock.delaysNs).toEqual([0.5e9, 1e9, 2e9]);
  });

  it("fails after five attempts without progress and names the file and the cause", async () => {
    const repository = await repositoryOf({ "1/model.onnx": contentOf([1], 10) });
    const source = sourceOf(repository, () => {
      throw new TypeError("Failed to fetch");
    });
    await expect(fetchModelFiles(options(repository, { source }))).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message:
        "failed to download file '1/model.onnx' of model 'm' from http://models.test/: Failed to fetch",
    });
    expect(source.reads).toHaveLength(5);
  });

  it("does not ask again for what is not there", async () => {
    const repository = await repositoryOf({ a: contentOf([1], 10) });
    const source = sourceOf({ ...repository, contents: new Map() });
    await expect(fetchModelFiles(options(repository, { source }))).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
    expect(source.reads).toHaveLength(1);
  });

  it("counts a body that ends early as broken", async () => {
    const repository = await repositoryOf({ a: contentOf([1], 1000) });
    const source = sourceOf(repository, (piece) => piece.subarray(0, 0));
    await expect(fetchModelFiles(options(repository, { source }))).rejects.toThrow(
      "the transfer ended after 0 of 1000 bytes",
    );
  });

  it("gives up a source that falls silent, and one that ignores the abort as well", async () => {
    const repository = await repositoryOf({ a: contentOf([1], 1000) });
    const clock = impatientClock();
    const silent: RepositorySource = {
      ...sourceOf(repository),
      read: () => ({
        [Symbol.asyncIterator]: () => ({
          next: () => {
            queueMicrotask(() => {
              clock.elapse();
            });
            return new Promise<never>(() => undefined);
          },
        }),
      }),
    };
    await expect(fetchModelFiles(options(repository, { source: silent, clock }))).rejects.toThrow(
      "no data for 30 seconds",
    );
  });

  it("stops at once when aborted, in a transfer as in a wait", async () => {
    const repository = await repositoryOf({ a: contentOf([1, 2], 1000) });
    const controller = new AbortController();
    const reason = new Error("tab closed");
    const source = sourceOf(repository, (piece, _read, offset) => {
      if (offset === 2 * 1024 * 1024) controller.abort(reason);
      return piece;
    });
    await expect(fetchModelFiles(options(repository, { source, signal: controller.signal }))).rejects.toBe(
      reason,
    );

    const waiting = new AbortController();
    const clock: Clock = {
      ...impatientClock(),
      after: (delayNs) => {
        if (delayNs < 10e9)
          queueMicrotask(() => {
            waiting.abort(reason);
          });
        return () => undefined;
      },
    };
    const broken = sourceOf(repository, () => {
      throw new TypeError("offline");
    });
    await expect(
      fetchModelFiles(options(repository, { source: broken, clock, signal: waiting.signal })),
    ).rejects.toBe(reason);
  });
});

describe("content that does not match", () => {
  it("is asked for once more", async () => {
    const content = contentOf([1, 2], 1000);
    const repository = await repositoryOf({ a: content });
    let spoiled = false;
    const source = sourceOf(repository, (piece, _read, offset) => {
      if (offset === CHUNK_SIZE && !spoiled) {
        spoiled = true;
        piece[0] = 77;
      }
      return piece;
    });
    const files = await fetchModelFiles(options(repository, { source }));
    expect(source.reads.map(({ start }) => start)).toEqual([0, CHUNK_SIZE]);
    expectContents(await files.read("a"), content);
  });

  it("fails the second time with file, chunk, expected and got, and leaves no record", async () => {
    const repository = await repositoryOf({ "1/model.onnx": contentOf([1, 2], 1000) });
    const store = createMemoryFileStore();
    const source = sourceOf(repository, (piece, _read, offset) => {
      if (offset === CHUNK_SIZE) piece[0] = 77;
      return piece;
    });
    const spoiled = contentOf([77], 1000);
    const expected = repository.model.files[0]?.chunks[1] ?? "";
    await expect(fetchModelFiles(options(repository, { source, store }))).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message:
        "failed to download file '1/model.onnx' of model 'm' from http://models.test/: chunk 2 of 2 has SHA-256 " +
        `${await sampling.sha256(spoiled)} where the manifest says ${expected} (a deploy in progress, or a manifest ` +
        "that is not of these files)",
    });
    expect(await store.files()).toEqual([]);
  });

  it("is called HTML when it is", async () => {
    const repository = await repositoryOf({ a: contentOf([1], 1000) });
    const page = new TextEncoder().encode("\n<!DOCTYPE html>".padEnd(1000));
    const source = sourceOf(repository, () => page.slice());
    await expect(fetchModelFiles(options(repository, { source }))).rejects.toThrow(
      "the server answered with an HTML page instead of the file",
    );
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
