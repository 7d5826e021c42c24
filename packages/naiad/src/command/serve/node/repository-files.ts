import { open, stat } from "node:fs/promises";
import type { Digest, FileStore, StoredFile } from "@naiad/core";
import { CHUNK_SIZE } from "@naiad/core";
import { InferenceError } from "@naiad/protocol";
import type { FileHash } from "../../../hash-file.ts";

/** Files of the model repositories by their content, where they lie. */
export interface RepositoryFiles {
  /** The file at `path` had this content when it was read. */
  know(path: string, hash: FileHash): void;
  /** The record of a file, as long as it seems to be unchanged. */
  find(sha256: string): Promise<StoredFile | undefined>;
  hasChunk(sha256: string): Promise<boolean>;
  /** Rejects with UNAVAILABLE where the file has changed; `undefined` where no file has such a chunk. The caller owns the bytes. */
  readChunk(sha256: string): Promise<Uint8Array | undefined>;
}

interface Place {
  readonly path: string;
  readonly hash: FileHash;
}

export function createRepositoryFiles(digest: Digest): RepositoryFiles {
  const byFile = new Map<string, Place>();
  const byChunk = new Map<string, Place & { readonly index: number }>();

  return {
    know(path, hash) {
      if (byFile.get(hash.sha256)?.hash === hash) return;
      byFile.set(hash.sha256, { path, hash });
      for (const [index, chunk] of hash.chunks.entries()) byChunk.set(chunk, { path, hash, index });
    },
    async find(sha256) {
      const place = byFile.get(sha256);
      if (place === undefined || !(await isUnchanged(place))) return undefined;
      const { chunks, size } = place.hash;
      return { sha256, size, chunks };
    },
    async hasChunk(sha256) {
      const place = byChunk.get(sha256);
      return place !== undefined && (await isUnchanged(place));
    },
    async readChunk(sha256) {
      const place = byChunk.get(sha256);
      if (place === undefined) return undefined;
      const { hash, index, path } = place;
      const start = index * CHUNK_SIZE;
      const bytes = await readPart(path, start, Math.min(CHUNK_SIZE, hash.size - start));
      if (bytes !== undefined && (await digest.sha256(bytes)) === sha256) return bytes;
      throw new InferenceError(
        "UNAVAILABLE",
        `'${path}' is not any more what it was when the model repository was read: load the model again`,
      );
    },
  };
}

/** `store`, with the repositories' files as if they were stored there too: nothing of them is copied, nor removed. */
export function withRepositoryFiles(store: FileStore, repository: RepositoryFiles): FileStore {
  return {
    ...store,
    hasChunk: async (sha256) => (await store.hasChunk(sha256)) || repository.hasChunk(sha256),
    getChunk: async (sha256) => (await store.getChunk(sha256)) ?? repository.readChunk(sha256),
    getFile: async (sha256) => (await store.getFile(sha256)) ?? repository.find(sha256),
  };
}

async function isUnchanged({ path, hash }: Place): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined);
  return stats?.size === hash.size && stats.mtimeMs === hash.mtimeMs;
}

/** `undefined` where the file is gone, or shorter. */
async function readPart(path: string, start: number, length: number): Promise<Uint8Array | undefined> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const bytes = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await file.read(bytes, filled, length - filled, start + filled);
      if (bytesRead === 0) return undefined;
      filled += bytesRead;
    }
    return bytes;
  } finally {
    await file.close();
  }
}
