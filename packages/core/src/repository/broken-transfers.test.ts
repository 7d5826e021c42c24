import { describe, expect, it } from "vitest";
import { CHUNK_SIZE, type Clock, type RepositorySource } from "../ports.ts";
import {
  contentOf,
  expectContents,
  impatientClock,
  options,
  repositoryOf,
  sampling,
  sourceOf,
} from "../../test/repository-of-files.ts";
import { fetchModelFiles } from "./fetch-files.ts";
import { createMemoryFileStore } from "./memory-file-store.ts";

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
