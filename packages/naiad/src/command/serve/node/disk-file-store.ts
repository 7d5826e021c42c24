import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { FileStore, StoredFile } from "@naiad/core";
import { createSerialQueue } from "@naiad/link";

/**
 * A file store in a directory of its own: `chunks/<SHA-256>`, `files/<SHA-256>` (records in JSON) and `documents/<SHA-256 of the
 * key>`. What one host has put there the next one finds. Threads do not open it: their host posts them the bytes.
 */
export async function openDiskStore(directory: string): Promise<FileStore> {
  const chunkFolder = join(directory, "chunks");
  const fileFolder = join(directory, "files");
  const documentFolder = join(directory, "documents");
  for (const folder of [chunkFolder, fileFolder, documentFolder]) await mkdir(folder, { recursive: true });
  /** Put through this store, but named by no record yet: what is still coming in counts on them. */
  const unrecorded = new Set<string>();
  const changes = createSerialQueue();

  /** A host that dies in the middle of it leaves no half of anything. */
  async function put(folder: string, name: string, content: string | Uint8Array): Promise<void> {
    const draft = join(directory, randomUUID());
    await writeFile(draft, content);
    await rename(draft, join(folder, name));
  }

  async function getFile(sha256: string): Promise<StoredFile | undefined> {
    const text = await ifThere(readFile(join(fileFolder, sha256), "utf8"));
    // Only this store writes there, and whole files.
    return text === undefined ? undefined : (JSON.parse(text) as StoredFile);
  }

  async function allFiles(): Promise<readonly StoredFile[]> {
    const records = await Promise.all((await readdir(fileFolder)).map(getFile));
    return records.filter((record) => record !== undefined);
  }

  async function removeChunks(doomed: readonly string[], kept: ReadonlySet<string>): Promise<void> {
    const recorded = new Set((await allFiles()).flatMap((file) => file.chunks));
    for (const chunk of doomed) {
      if (kept.has(chunk) || recorded.has(chunk) || unrecorded.has(chunk)) continue;
      await rm(join(chunkFolder, chunk), { force: true });
    }
  }

  return {
    location: { kind: "memory" },
    async hasChunk(sha256) {
      return (await ifThere(stat(join(chunkFolder, sha256)))) !== undefined;
    },
    async putChunk(sha256, bytes) {
      unrecorded.add(sha256);
      await put(chunkFolder, sha256, bytes);
    },
    async getChunk(sha256) {
      const bytes = await ifThere(readFile(join(chunkFolder, sha256)));
      // Small ones share a buffer with others, which must not change hands with them.
      return bytes && new Uint8Array(bytes);
    },
    getFile,
    putFile: ({ sha256, size, chunks }) =>
      changes.run(async () => {
        await put(fileFolder, sha256, JSON.stringify({ sha256, size, chunks }));
        for (const chunk of chunks) unrecorded.delete(chunk);
      }),
    files: allFiles,
    deleteFile: (sha256) =>
      changes.run(async () => {
        const record = await getFile(sha256);
        await rm(join(fileFolder, sha256), { force: true });
        await removeChunks(record?.chunks ?? [], new Set());
      }),
    sweepChunks: (kept) => changes.run(async () => removeChunks(await readdir(chunkFolder), kept)),
    getDocument: (key) => ifThere(readFile(join(documentFolder, nameOf(key)), "utf8")),
    putDocument: (key, text) => put(documentFolder, nameOf(key), text),
  };
}

function nameOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

async function ifThere<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
