import { CHUNK_SIZE } from "@naiad/core";
import type { ByteRange, Digest, ManifestModel, ModelFile, RepositorySource } from "@naiad/core";
import { InferenceError } from "@naiad/protocol";
import { quickDigest } from "./quick-digest.ts";

/** Content of a model's directory by path; text is UTF-8. Directories follow from the paths; `1/` is an empty one. */
export type MemoryModel = Readonly<Record<string, string | Uint8Array>>;

/** A model repository that a test changes at will. */
export interface MemoryRepository extends RepositorySource {
  put(modelName: string, model: MemoryModel, options?: { readonly directories?: readonly string[] }): void;
  remove(modelName: string): void;
  /** What `manifest` rejects with from now on; `undefined`: nothing. */
  failWith(error: Error | undefined): void;
  /** `model/path` of every transfer so far, in order. */
  readonly reads: readonly string[];
}

export function createMemoryRepository(
  models: Readonly<Record<string, MemoryModel>> = {},
  { id = "memory", digest = quickDigest }: { readonly id?: string; readonly digest?: Digest } = {},
): MemoryRepository {
  const held = new Map<
    string,
    { readonly content: Map<string, Uint8Array>; readonly directories: readonly string[] }
  >();
  const reads: string[] = [];
  let failure: Error | undefined;

  const repository: MemoryRepository = {
    id,
    reads,
    put: (modelName, model, { directories = [] } = {}) => {
      const content = new Map(
        Object.entries(model)
          .filter(([path]) => !path.endsWith("/"))
          .map(([path, value]) => [
            path,
            typeof value === "string" ? new TextEncoder().encode(value) : value,
          ]),
      );
      const implied = Object.keys(model).flatMap((path) =>
        path.includes("/") ? [path.split("/")[0] ?? ""] : [],
      );
      held.set(modelName, { content, directories: [...new Set([...directories, ...implied])] });
    },
    remove: (modelName) => {
      held.delete(modelName);
    },
    failWith: (error) => {
      failure = error;
    },
    manifest: async (signal) => {
      signal.throwIfAborted();
      if (failure !== undefined) throw failure;
      const entries = [...held].map(async ([name, { content, directories }]): Promise<ManifestModel> => {
        const files = [...content].map(([path, bytes]) => describeFile(path, bytes, digest));
        return { name, directories, files: await Promise.all(files) };
      });
      return { models: await Promise.all(entries) };
    },
    read: (modelName, path, range, signal) => {
      reads.push(`${modelName}/${path}`);
      return pieces(held.get(modelName)?.content.get(path), `${modelName}/${path}`, range, signal);
    },
  };
  for (const [name, model] of Object.entries(models)) repository.put(name, model);
  return repository;
}

async function* pieces(
  bytes: Uint8Array | undefined,
  path: string,
  range: ByteRange,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  await Promise.resolve();
  if (bytes === undefined) throw new InferenceError("NOT_FOUND", `no file '${path}'`);
  const pieceSize = 64 * 1024;
  for (let start = range.start; start < range.end; start += pieceSize) {
    signal.throwIfAborted();
    yield bytes.slice(start, Math.min(start + pieceSize, range.end));
  }
}

async function describeFile(path: string, bytes: Uint8Array, digest: Digest): Promise<ModelFile> {
  const chunks: string[] = [];
  for (let start = 0; start < bytes.byteLength; start += CHUNK_SIZE) {
    chunks.push(await digest.sha256(bytes.subarray(start, start + CHUNK_SIZE)));
  }
  return { path, size: bytes.byteLength, sha256: await digest.sha256(bytes), chunks };
}
