import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { CHUNK_SIZE } from "@naiad/core";

export interface FileHash {
  readonly size: number;
  readonly mtimeMs: number;
  readonly sha256: string;
  readonly chunks: readonly string[];
}

/** Hashes by absolute path. An entry counts as long as the file's size and time of change stay the same. */
export type HashCache = Map<string, FileHash>;

/**
 * Size and hashes of a file, holding one chunk of it in memory. Rejects when the file changes while it is read: such hashes
 * would describe no content that ever existed.
 */
export async function hashFile(path: string, cache: HashCache): Promise<FileHash> {
  const file = await open(path);
  try {
    const before = await file.stat();
    const known = cache.get(path);
    if (known?.size === before.size && known.mtimeMs === before.mtimeMs) return known;
    const hashes = await hashContent(file, before.size);
    const after = await file.stat();
    if (hashes === undefined || after.size !== before.size || after.mtimeMs !== before.mtimeMs) {
      throw new Error(`${path} changed while it was read`);
    }
    const hash = { size: before.size, mtimeMs: before.mtimeMs, ...hashes };
    cache.set(path, hash);
    return hash;
  } finally {
    await file.close();
  }
}

/** `undefined` when the file turns out to be shorter. */
async function hashContent(
  file: FileHandle,
  size: number,
): Promise<Pick<FileHash, "sha256" | "chunks"> | undefined> {
  const whole = createHash("sha256");
  const chunks: string[] = [];
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_SIZE, size));
  for (let position = 0; position < size; position += CHUNK_SIZE) {
    const chunk = buffer.subarray(0, Math.min(CHUNK_SIZE, size - position));
    let filled = 0;
    while (filled < chunk.length) {
      const { bytesRead } = await file.read(chunk, filled, chunk.length - filled, position + filled);
      if (bytesRead === 0) return undefined;
      filled += bytesRead;
    }
    whole.update(chunk);
    chunks.push(createHash("sha256").update(chunk).digest("hex"));
  }
  return { sha256: whole.digest("hex"), chunks };
}
