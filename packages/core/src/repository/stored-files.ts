import { InferenceError, invariant } from "@naiad/protocol";
import { type ByteRange, CHUNK_SIZE, type FileStore, type ModelFile, type ModelFiles } from "../ports.ts";
import { chunkRange } from "./chunks.ts";

/**
 * Files that a store already holds whole, readable by path. Instance workers build this over their own connection to
 * the store, from the entries that the host sends them.
 */
export function storedModelFiles(entries: readonly ModelFile[], store: FileStore): ModelFiles {
  const byPath = new Map(entries.map((file) => [file.path, file]));
  return {
    entries,
    location: store.location,
    async read(path, range) {
      const file = byPath.get(path);
      if (file === undefined) throw new InferenceError("NOT_FOUND", `no file '${path}' in the model`);
      return readRange(file, range ?? { start: 0, end: file.size }, store);
    },
  };
}

/** Holds at most the result and one chunk at a time. */
async function readRange(file: ModelFile, range: ByteRange, store: FileStore): Promise<Uint8Array> {
  invariant(
    0 <= range.start && range.start <= range.end && range.end <= file.size,
    `bytes ${String(range.start)}-${String(range.end)} are outside '${file.path}' (${String(file.size)} bytes)`,
  );
  const first = Math.floor(range.start / CHUNK_SIZE);
  const end = Math.ceil(range.end / CHUNK_SIZE);
  if (range.start === 0 && range.end === file.size && end === 1) return readChunk(file, 0, store);

  const result = new Uint8Array(range.end - range.start);
  for (let index = first; index < end; index++) {
    const chunk = await readChunk(file, index, store);
    const { start } = chunkRange(file, index);
    const from = Math.max(range.start - start, 0);
    result.set(chunk.subarray(from, range.end - start), start + from - range.start);
  }
  return result;
}

/**
 * Browsers and cleaners do remove or cut stored values behind a record's back. Whatever is left of such a file is
 * deleted, so that the next load downloads it again.
 */
async function readChunk(file: ModelFile, index: number, store: FileStore): Promise<Uint8Array> {
  const sha256 = file.chunks[index];
  invariant(sha256 !== undefined, `'${file.path}' has no chunk ${String(index)}`);
  const { start, end } = chunkRange(file, index);
  const bytes = await store.getChunk(sha256);
  if (bytes?.byteLength === end - start) return bytes;
  await store.deleteFile(file.sha256);
  throw new InferenceError(
    "UNAVAILABLE",
    `the stored copy of file '${file.path}' is damaged (chunk ${String(index + 1)} of ` +
      `${String(file.chunks.length)}); load the model again to download it anew`,
  );
}
