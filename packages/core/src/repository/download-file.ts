import { InferenceError } from "@naiad/protocol";
import type { FileStore, ModelFile } from "../ports.ts";
import { contiguousRuns, isRecordOf, missingChunks, runRange, sizeOf } from "./chunks.ts";
import { type DownloadContext, downloadRun } from "./download-run.ts";

/** How often chunks may vanish again while their file is being completed. */
const MAX_ROUNDS = 3;

/** Whether the store has the record of this content and everything that it names. */
export async function isWhole(file: ModelFile, store: FileStore): Promise<boolean> {
  return (
    isRecordOf(await store.getFile(file.sha256), file) && (await missingChunks(file, store)).length === 0
  );
}

/**
 * Brings what is missing of one file into the store, chunk by verified chunk, and writes its record last. An
 * interruption at any point leaves chunks that the next attempt finds, and no record.
 */
export async function downloadFile(file: ModelFile, context: DownloadContext): Promise<void> {
  const { onLoaded, store } = context;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const missing = await missingChunks(file, store);
    const runs = contiguousRuns(missing);
    let present = file.size - runs.reduce((bytes, run) => bytes + sizeOf(runRange(file, run)), 0);
    for (const run of runs) {
      const before = present;
      await downloadRun(file, run, {
        ...context,
        onLoaded: (bytes) => {
          onLoaded(before + bytes);
        },
      });
      present += sizeOf(runRange(file, run));
    }
    context.signal.throwIfAborted();
    await store.putFile({ sha256: file.sha256, size: file.size, chunks: file.chunks });
    // Content shared with a file that was deleted meanwhile may have gone with it; the record protects it from now on.
    if (await isWhole(file, store)) return;
  }
  throw new InferenceError(
    "UNAVAILABLE",
    `the store does not keep file '${file.path}' of model '${context.modelName}'`,
  );
}
