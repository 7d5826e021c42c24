import { InferenceError } from "@naiad/protocol";
import type {
  ByteRange,
  Clock,
  Digest,
  FileStore,
  Logger,
  ManifestModel,
  ModelFile,
  ModelFiles,
} from "../ports.ts";
import { CHUNK_SIZE } from "../ports.ts";
import { chunkRange, missingChunks, sizeOf } from "./chunks.ts";
import type { DownloadLock, FileProgress } from "./fetch-files.ts";
import { fetchModelFiles } from "./fetch-files.ts";
import { normalizeModelPath } from "./model-path.ts";
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

/**
 * A model's directory that came with a load request and stands for the repository's as a whole. The content is kept as
 * it is, so the caller gives it up. INVALID_ARG for a path that leaves the directory.
 */
export async function uploadedMaterial(
  modelName: string,
  uploads: Readonly<Record<string, Uint8Array>>,
  digest: Digest,
): Promise<ModelMaterial> {
  const content = new Map<string, Uint8Array>();
  for (const [path, bytes] of Object.entries(uploads)) {
    const normalized = normalizeModelPath(path);
    if (normalized === undefined) {
      throw new InferenceError(
        "INVALID_ARG",
        `Invalid file parameter 'file:${path}' must stay within model directory.`,
      );
    }
    content.set(normalized, bytes);
  }
  const files = await Promise.all([...content].map(([path, bytes]) => describeFile(path, bytes, digest)));
  const directories = new Set(
    files.flatMap(({ path }) => (path.includes("/") ? [path.slice(0, path.indexOf("/"))] : [])),
  );
  const model: ManifestModel = { name: modelName, directories: [...directories], files };
  return {
    model,
    fingerprint: modelFingerprint(model),
    missingBytes: () => Promise.resolve(0),
    fetch: (paths) => {
      const entries = files.filter(({ path }) => paths.includes(path));
      return Promise.resolve({
        entries,
        location: { kind: "memory" },
        read: (path, range) => readUpload(content, path, range),
      });
    },
  };
}

async function describeFile(path: string, bytes: Uint8Array, digest: Digest): Promise<ModelFile> {
  const chunks: string[] = [];
  for (let start = 0; start < bytes.byteLength; start += CHUNK_SIZE) {
    chunks.push(await digest.sha256(bytes.subarray(start, start + CHUNK_SIZE)));
  }
  return { path, size: bytes.byteLength, sha256: await digest.sha256(bytes), chunks };
}

function readUpload(
  content: ReadonlyMap<string, Uint8Array>,
  path: string,
  range: ByteRange | undefined,
): Promise<Uint8Array> {
  const bytes = content.get(path);
  if (bytes === undefined) {
    return Promise.reject(new InferenceError("NOT_FOUND", `no file '${path}' in the model`));
  }
  return Promise.resolve(range === undefined ? bytes.slice() : bytes.slice(range.start, range.end));
}
