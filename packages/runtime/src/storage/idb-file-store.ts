import { del, delMany, get, keys, promisifyRequest, set, values } from "idb-keyval";
import type { FileStore, StoredFile } from "@naiad/core";
import { InferenceError } from "@naiad/protocol";
import { bytesOfValue, type ChunkForm, supportedChunkForm, valueOfBytes } from "./chunk-values.ts";
import { openKeyValueDatabase } from "./idb-database.ts";

export interface IndexedDbStoreOptions {
  /** Absent: Blob where a self-test shows that this browser can store them. */
  readonly chunkForm?: ChunkForm;
}

/**
 * A file store in IndexedDB: `<name>-chunks` (SHA-256 -> bytes), `<name>-files` (SHA-256 -> record) and
 * `<name>-documents`. Opens lazily, so a failure shows at the first call. Rejects with UNAVAILABLE when the quota is used up;
 * the bytes given to `putChunk` are then unchanged.
 *
 * There is no transaction across databases. The order of writes stands in for it: chunks are durable before their record
 * is written, and a record goes before its chunks.
 */
export function openIndexedDbStore(name: string, options: IndexedDbStoreOptions = {}): FileStore {
  const chunks = openKeyValueDatabase(`${name}-chunks`);
  const files = openKeyValueDatabase(`${name}-files`);
  const documents = openKeyValueDatabase(`${name}-documents`);
  /** Put through this store, but named by no record yet: a download that is still going on counts on them. */
  const unrecorded = new Set<string>();
  const inOrder = serialQueue();
  let form: Promise<ChunkForm> | undefined;

  function chunkForm(): Promise<ChunkForm> {
    form ??=
      options.chunkForm === undefined ? supportedChunkForm(documents) : Promise.resolve(options.chunkForm);
    return form;
  }

  async function allFiles(): Promise<readonly StoredFile[]> {
    const records = await values<unknown>(files);
    return records.map(asStoredFile).filter((file) => file !== undefined);
  }

  async function removeChunks(doomed: readonly string[], kept: ReadonlySet<string>): Promise<void> {
    const recorded = new Set((await allFiles()).flatMap((file) => file.chunks));
    await delMany(
      doomed.filter((chunk) => !kept.has(chunk) && !recorded.has(chunk) && !unrecorded.has(chunk)),
      chunks,
    );
  }

  return {
    location: { kind: "indexeddb", name },

    async hasChunk(sha256) {
      const key = await chunks("readonly", (store) => promisifyRequest(store.getKey(sha256)));
      return key !== undefined;
    },

    async putChunk(sha256, bytes) {
      const value = valueOfBytes(bytes, await chunkForm());
      unrecorded.add(sha256);
      await set(sha256, value, chunks).catch(refuseWhenFull);
    },

    async getChunk(sha256) {
      try {
        return await bytesOfValue(await get<unknown>(sha256, chunks));
      } catch (error) {
        if (!isLostValue(error)) throw error;
        // The key is there and its content is not: without the key it counts as missing and is downloaded again.
        await del(sha256, chunks);
        return undefined;
      }
    },

    async getFile(sha256) {
      return asStoredFile(await get<unknown>(sha256, files));
    },

    putFile: ({ sha256, size, chunks: names }) =>
      inOrder(async () => {
        await set(sha256, { sha256, size, chunks: [...names] }, files).catch(refuseWhenFull);
        for (const chunk of names) unrecorded.delete(chunk);
      }),

    files: allFiles,

    /** Another tab that downloads the same chunks at this very moment may lose them; it notices when it has written its record. */
    deleteFile: (sha256) =>
      inOrder(async () => {
        const record = asStoredFile(await get<unknown>(sha256, files));
        await del(sha256, files);
        await removeChunks(record?.chunks ?? [], new Set());
      }),

    sweepChunks: (kept) => inOrder(async () => removeChunks(await keys<string>(chunks), kept)),

    async getDocument(key) {
      const text = await get<unknown>(key, documents);
      return typeof text === "string" ? text : undefined;
    },

    putDocument: (key, text) => set(key, text, documents).catch(refuseWhenFull),
  };
}

/** Runs tasks one after the other; one that fails does not keep the next from running. */
function serialQueue(): <T>(task: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const run = last.then(task, task);
    last = run.catch(() => undefined);
    return run;
  };
}

function refuseWhenFull(error: unknown): never {
  if (error instanceof DOMException && error.name === "QuotaExceededError") {
    throw new InferenceError("UNAVAILABLE", "the browser's storage quota for this site is used up", {
      cause: error,
    });
  }
  throw error;
}

/**
 * Browsers keep large values as files of their own. When a cleaner or a crash took such a file, the entry is still listed
 * and reading it fails: NotReadableError and NotFoundError from a Blob, DataError and UnknownError from the request.
 */
function isLostValue(error: unknown): boolean {
  return (
    error instanceof DOMException &&
    ["NotReadableError", "NotFoundError", "DataError", "UnknownError"].includes(error.name)
  );
}

function asStoredFile(value: unknown): StoredFile | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (!("sha256" in value && "size" in value && "chunks" in value)) return undefined;
  const { sha256, size, chunks } = value;
  const isRecord =
    typeof sha256 === "string" &&
    typeof size === "number" &&
    Array.isArray(chunks) &&
    chunks.every((chunk): chunk is string => typeof chunk === "string");
  return isRecord ? { sha256, size, chunks } : undefined;
}
