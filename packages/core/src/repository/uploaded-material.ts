import { InferenceError } from "@naiad/protocol";
import type { Digest, FileStore, Logger, ManifestModel, ModelFile } from "../ports.ts";
import { CHUNK_SIZE } from "../ports.ts";
import { chunkRange } from "./chunks.ts";
import { isWhole } from "./download-file.ts";
import { withMemoryFallback } from "./memory-fallback.ts";
import type { ModelMaterial } from "./model-material.ts";
import { normalizeModelPath } from "./model-path.ts";
import { modelFingerprint } from "./model-repository.ts";
import { storedModelFiles } from "./stored-files.ts";

export interface UploadOptions {
  readonly store: FileStore;
  readonly digest: Digest;
  readonly logger: Logger;
}

/**
 * A model's directory that came with a load request and stands for the repository's as a whole. What of it is fetched goes
 * into the store, from where another host can serve it again; what does not fit there stays in memory. INVALID_ARG for a
 * path that leaves the directory. The caller gives the bytes up.
 */
export async function uploadedMaterial(
  modelName: string,
  uploads: Readonly<Record<string, Uint8Array>>,
  { store, digest, logger }: UploadOptions,
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
  const roomy = withMemoryFallback(store, (error) => {
    logger.log("warning", `uploaded files of model '${modelName}' stay in memory only: ${error.message}`);
  });
  const material = storedMaterial(modelName, files, roomy);
  return {
    ...material,
    fetch: async (paths, signal) => {
      for (const file of filesAt(material.model, paths)) {
        signal.throwIfAborted();
        const bytes = content.get(file.path);
        if (bytes !== undefined && !(await isWhole(file, roomy))) await putFile(file, bytes, roomy);
      }
      return material.fetch(paths, signal);
    },
  };
}

/**
 * The same directory from what a store has kept of it. Files that it has lost make a fetch reject with NOT_FOUND: there is
 * nowhere to get them from.
 */
export function storedMaterial(
  modelName: string,
  files: readonly ModelFile[],
  store: FileStore,
): ModelMaterial {
  const directories = new Set(
    files.flatMap(({ path }) => (path.includes("/") ? [path.slice(0, path.indexOf("/"))] : [])),
  );
  const model: ManifestModel = { name: modelName, directories: [...directories], files };
  return {
    model,
    fingerprint: modelFingerprint(model),
    missingBytes: () => Promise.resolve(0),
    fetch: async (paths, signal) => {
      const entries = filesAt(model, paths);
      for (const file of entries) {
        signal.throwIfAborted();
        if (await isWhole(file, store)) continue;
        throw new InferenceError(
          "NOT_FOUND",
          `file '${file.path}' of model '${modelName}' came with a load request and is not stored any more: load the ` +
            "model with its files again",
        );
      }
      return storedModelFiles(entries, store);
    },
  };
}

function filesAt({ name, files }: ManifestModel, paths: readonly string[]): readonly ModelFile[] {
  return paths.map((path) => {
    const file = files.find((candidate) => candidate.path === path);
    if (file !== undefined) return file;
    throw new InferenceError(
      "NOT_FOUND",
      `no file '${path}' among those that model '${name}' was loaded with`,
    );
  });
}

async function describeFile(path: string, bytes: Uint8Array, digest: Digest): Promise<ModelFile> {
  const chunks: string[] = [];
  for (let start = 0; start < bytes.byteLength; start += CHUNK_SIZE) {
    chunks.push(await digest.sha256(bytes.subarray(start, start + CHUNK_SIZE)));
  }
  return { path, size: bytes.byteLength, sha256: await digest.sha256(bytes), chunks };
}

async function putFile(file: ModelFile, bytes: Uint8Array, store: FileStore): Promise<void> {
  for (const [index, sha256] of file.chunks.entries()) {
    const { start, end } = chunkRange(file, index);
    await store.putChunk(sha256, bytes.slice(start, end));
  }
  await store.putFile({ sha256: file.sha256, size: file.size, chunks: file.chunks });
}
