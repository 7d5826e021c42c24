import type { Clock, Digest, FileStore, Logger, ManifestModel, ModelFile, ModelFiles } from "../ports.ts";
import { chunkRange, missingChunks, sizeOf } from "./chunks.ts";
import type { DownloadLock, FileProgress } from "./fetch-files.ts";
import { fetchModelFiles } from "./fetch-files.ts";
import type { RepositoryModel } from "./model-repository.ts";
import { modelFingerprint } from "./model-repository.ts";

/** A model's directory and the way to its content, wherever that lies. */
export interface ModelMaterial {
  readonly model: ManifestModel;
  /** Changes when the content does. */
  readonly fingerprint: string;
  /** Bytes of these files that would have to be downloaded. */
  missingBytes(files: readonly ModelFile[]): Promise<number>;
  /** Makes these files readable, in this order. Rejects as `fetchModelFiles` does. */
  fetch(paths: readonly string[], signal: AbortSignal): Promise<ModelFiles>;
}

export interface MaterialOptions {
  readonly store: FileStore;
  readonly digest: Digest;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly downloadLock?: DownloadLock;
  readonly onProgress: (progress: FileProgress) => void;
}

export function repositoryMaterial(
  { model, source }: RepositoryModel,
  options: MaterialOptions,
): ModelMaterial {
  const { store, digest, clock, logger, downloadLock, onProgress } = options;
  return {
    model,
    fingerprint: modelFingerprint(model),
    missingBytes: async (files) => {
      const sizes = await Promise.all(
        files.map(async (file) => {
          const missing = await missingChunks(file, store);
          return missing.reduce((sum, index) => sum + sizeOf(chunkRange(file, index)), 0);
        }),
      );
      return sizes.reduce((sum, size) => sum + size, 0);
    },
    fetch: (paths, signal) =>
      fetchModelFiles({
        model,
        paths,
        source,
        store,
        digest,
        clock,
        logger,
        signal,
        onProgress,
        ...(downloadLock === undefined ? {} : { lock: downloadLock }),
      }),
  };
}
