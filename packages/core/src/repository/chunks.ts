import { type ByteRange, CHUNK_SIZE, type FileStore, type ModelFile, type StoredFile } from "../ports.ts";

/** Chunks `first` (inclusive) to `end` (exclusive) of a file. */
export interface ChunkRun {
  readonly first: number;
  readonly end: number;
}

/** The bytes of a file that its chunk number `index` holds. */
export function chunkRange(file: ModelFile, index: number): ByteRange {
  const start = index * CHUNK_SIZE;
  return { start, end: Math.min(start + CHUNK_SIZE, file.size) };
}

/** The bytes of a file that a run covers. */
export function runRange(file: ModelFile, run: ChunkRun): ByteRange {
  return { start: chunkRange(file, run.first).start, end: chunkRange(file, run.end - 1).end };
}

export function sizeOf(range: ByteRange): number {
  return range.end - range.start;
}

/**
 * Numbers of the chunks that a store lacks, ascending. Content that appears several times in the file counts where it
 * appears first: it needs to be brought only once.
 */
export async function missingChunks(file: ModelFile, store: FileStore): Promise<readonly number[]> {
  const firstIndex = new Map<string, number>();
  file.chunks.forEach((sha256, index) => {
    if (!firstIndex.has(sha256)) firstIndex.set(sha256, index);
  });
  const found = await Promise.all(
    Array.from(firstIndex, async ([sha256, index]) => ({ index, present: await store.hasChunk(sha256) })),
  );
  return found.filter(({ present }) => !present).map(({ index }) => index);
}

/** Ascending numbers as the fewest runs of neighbours: each is one transfer. */
export function contiguousRuns(indexes: readonly number[]): readonly ChunkRun[] {
  const runs: { first: number; end: number }[] = [];
  for (const index of indexes) {
    const last = runs.at(-1);
    if (last?.end === index) last.end = index + 1;
    else runs.push({ first: index, end: index + 1 });
  }
  return runs;
}

/** Whether a record stands for this very content. Two manifests may claim one SHA-256 for different chunks. */
export function isRecordOf(record: StoredFile | undefined, file: ModelFile): boolean {
  return (
    record?.size === file.size &&
    record.chunks.length === file.chunks.length &&
    record.chunks.every((sha256, index) => sha256 === file.chunks[index])
  );
}
