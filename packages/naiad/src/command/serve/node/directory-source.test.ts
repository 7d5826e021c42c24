import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Digest, FileStore, RepositorySource } from "@naiad/core";
import { CHUNK_SIZE, createMemoryFileStore } from "@naiad/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createDirectorySource } from "./directory-source.ts";
import { createRepositoryFiles, withRepositoryFiles } from "./repository-files.ts";

const NEVER = new AbortController().signal;
const digest: Digest = {
  sha256: (bytes) => Promise.resolve(createHash("sha256").update(bytes).digest("hex")),
};
/** Of more than one chunk. */
const LARGE = new Uint8Array(CHUNK_SIZE + 3).map((_, index) => index % 251);

let folder: string;
let own: FileStore;
let store: FileStore;
let source: RepositorySource;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "naiad-repository-"));
  await put("m/1/model.onnx", LARGE);
  const files = createRepositoryFiles(digest);
  own = createMemoryFileStore();
  store = withRepositoryFiles(own, files);
  source = createDirectorySource(folder, { files, onWarning: () => undefined });
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function put(path: string, content: Uint8Array | string): Promise<void> {
  await mkdir(join(folder, path, ".."), { recursive: true });
  await writeFile(join(folder, path), content);
}

async function modelFile() {
  const [file] = (await source.manifest(NEVER)).models.flatMap(({ files }) => files);
  if (file === undefined) throw new Error("the manifest has the file");
  return file;
}

/** The test runner takes its time to compare so many bytes. */
function isSame(left: Uint8Array | undefined, right: Uint8Array): boolean {
  return left !== undefined && Buffer.compare(left, right) === 0;
}

describe("a repository in a directory", () => {
  it("is listed as it is now, and its files are as good as stored without being copied", async () => {
    const { chunks, path, sha256, size } = await modelFile();
    expect(path).toBe("1/model.onnx");
    expect(await store.getFile(sha256)).toEqual({ sha256, size, chunks });
    expect(await Promise.all(chunks.map((chunk) => store.hasChunk(chunk)))).toEqual([true, true]);
    const [first, last] = await Promise.all(chunks.map((chunk) => store.getChunk(chunk)));
    expect(isSame(first, LARGE.subarray(0, CHUNK_SIZE))).toBe(true);
    expect(last).toEqual(LARGE.subarray(CHUNK_SIZE));
    expect(await store.files()).toEqual([]);
    expect(await own.hasChunk(chunks[0] ?? "")).toBe(false);

    await put("n/config.pbtxt", "");
    const [one, other] = await Promise.all([source.manifest(NEVER), source.manifest(NEVER)]);
    expect(one).toBe(other);
    expect(one.models.map(({ name }) => name)).toEqual(["m", "n"]);
  });

  it("gives any range of a file", async () => {
    const read = async (start: number, end: number): Promise<Uint8Array> => {
      const pieces: Uint8Array[] = [];
      for await (const piece of source.read("m", "1/model.onnx", { start, end }, NEVER)) pieces.push(piece);
      return new Uint8Array(Buffer.concat(pieces));
    };
    expect(await read(5, 9)).toEqual(LARGE.subarray(5, 9));
    expect(await read(7, 7)).toEqual(new Uint8Array());
    await expect(
      source.read("m", "1/none", { start: 0, end: 1 }, NEVER)[Symbol.asyncIterator]().next(),
    ).rejects.toThrow("ENOENT");
  });

  it("does not take a file that has changed for the one that it was", async () => {
    const { chunks, sha256 } = await modelFile();
    const [first = ""] = chunks;
    await put("m/1/model.onnx", LARGE.toReversed());
    expect(await store.getFile(sha256)).toBeUndefined();
    expect(await store.hasChunk(first)).toBe(false);
    await expect(store.getChunk(first)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("is not any more what it was") as string,
    });
    const now = await modelFile();
    expect(now.sha256).not.toBe(sha256);
    expect(await store.getChunk(now.chunks[1] ?? "")).toEqual(LARGE.toReversed().subarray(CHUNK_SIZE));
    await rm(join(folder, "m"), { recursive: true });
    await expect(store.getChunk(now.chunks[0] ?? "")).rejects.toThrow("load the model again");
    expect(await store.getChunk("never heard of")).toBeUndefined();
  });

  it("prefers what is stored, such as the files of a load request", async () => {
    const [chunk = ""] = (await modelFile()).chunks;
    await store.putChunk(chunk, Uint8Array.of(1));
    expect(await store.getChunk(chunk)).toEqual(Uint8Array.of(1));
  });

  it("says what keeps it from being read", async () => {
    await rm(folder, { recursive: true });
    await expect(source.manifest(NEVER)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("failed to read the model repository: ENOENT") as string,
    });
    await mkdir(folder);
    await expect(source.manifest(AbortSignal.abort(new Error("called off")))).rejects.toThrow("called off");
  });
});
