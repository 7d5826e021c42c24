import { InferenceError } from "@naiad/protocol";
import type {
  Clock,
  Digest,
  FileStore,
  Logger,
  ManifestModel,
  ModelFile,
  ModelFiles,
  RepositorySource,
} from "../ports.ts";
import { downloadFile, isWhole } from "./download-file.ts";
import { withMemoryFallback } from "./memory-fallback.ts";
import { storedModelFiles } from "./stored-files.ts";

export interface FileProgress {
  readonly path: string;
  /** `download` while bytes arrive; one `verify` with all bytes when the file is whole, however it came to be. */
  readonly phase: "download" | "verify";
  readonly loadedBytes: number;
  readonly totalBytes: number;
  /** Of all files that are fetched together, this one included. */
  readonly modelLoadedBytes: number;
  readonly modelTotalBytes: number;
}

/**
 * Runs `task` while nobody else, in any tab, runs one for the same content. Rejects with the signal's reason when that
 * fires while waiting; once it runs, the task watches the signal by itself.
 */
export type DownloadLock = (sha256: string, signal: AbortSignal, task: () => Promise<void>) => Promise<void>;

export interface FetchModelFiles {
  readonly model: ManifestModel;
  /** The files wanted, by path; the result has them in this order. */
  readonly paths: readonly string[];
  readonly source: RepositorySource;
  readonly store: FileStore;
  readonly digest: Digest;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Absent: two loads of one file at the same time both download it, which costs time and nothing else. */
  readonly lock?: DownloadLock;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: FileProgress) => void;
}

/**
 * Makes files of a model readable without the network. What the store holds already, under whatever file, version or
 * model it came, is not downloaded again. When the store is full, the rest of this model lives in memory: the result's
 * `location` says so.
 *
 * The chunks' SHA-256 are what content is held against. That of the whole file is only its key, because Web Crypto cannot
 * digest a file in pieces and a manifest that lies about one may lie about both.
 *
 * Rejects with `signal`'s reason after an abort, NOT_FOUND for a path that the model does not have, and otherwise with an
 * error that names the file. Whatever arrived stays in the store for the next attempt.
 */
export async function fetchModelFiles(options: FetchModelFiles): Promise<ModelFiles> {
  const { clock, digest, logger, model, onProgress, signal, source } = options;
  const lock = options.lock ?? ((_sha256, _signal, task) => task());
  const entries = options.paths.map((path) => entryOf(model, path));
  const store = withMemoryFallback(options.store, (error) => {
    logger.log("warning", `model '${model.name}' runs from memory, not from storage: ${error.message}`);
  });

  const modelTotalBytes = entries.reduce((sum, { size }) => sum + size, 0);
  let earlierBytes = 0;
  const report = (file: ModelFile, phase: FileProgress["phase"], loadedBytes: number): void => {
    const { path, size } = file;
    const modelLoadedBytes = earlierBytes + loadedBytes;
    onProgress({ path, phase, loadedBytes, totalBytes: size, modelLoadedBytes, modelTotalBytes });
  };

  // One file after the other: parallel downloads gain nothing on one network and cost memory where it is scarce.
  for (const file of entries) {
    signal.throwIfAborted();
    if (!(await isWhole(file, store))) {
      const onLoaded = coarsely(file, (loadedBytes) => {
        report(file, "download", loadedBytes);
      });
      const context = { modelName: model.name, source, store, digest, clock, logger, signal, onLoaded };
      await lock(file.sha256, signal, () => downloadFile(file, context));
    }
    report(file, "verify", file.size);
    earlierBytes += file.size;
  }
  return storedModelFiles(entries, store);
}

function entryOf(model: ManifestModel, path: string): ModelFile {
  const file = model.files.find((candidate) => candidate.path === path);
  if (file === undefined) {
    throw new InferenceError(
      "NOT_FOUND",
      `no file '${path}' in model '${model.name}' of the model repository`,
    );
  }
  return file;
}

/** Reports about two hundred times per file, however small the pieces are that arrive. */
function coarsely(file: ModelFile, report: (loadedBytes: number) => void): (loadedBytes: number) => void {
  const step = Math.max(file.size / 200, 64 * 1024);
  let reported = -Infinity;
  return (loadedBytes) => {
    const isNews = Math.abs(loadedBytes - reported) >= step || loadedBytes === file.size;
    if (!isNews) return;
    reported = loadedBytes;
    report(loadedBytes);
  };
}
