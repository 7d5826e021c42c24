import { InferenceError } from "@naiad/protocol";
import type { FileStore } from "../ports.ts";
import { createMemoryFileStore } from "./memory-file-store.ts";

/**
 * `store`, until it refuses something with UNAVAILABLE because its quota is used up: from then on everything new goes to
 * memory. `location` says memory once a chunk is only there. `onFull` is called once, with the refusal.
 */
export function withMemoryFallback(store: FileStore, onFull: (error: InferenceError) => void): FileStore {
  const memory = createMemoryFileStore();
  let full = false;
  let spilled = false;

  /** Runs `put` on the store while it has room, else `instead`. A store that refuses leaves the bytes as they are. */
  async function putOr(put: () => Promise<void>, instead: () => Promise<void>): Promise<void> {
    if (full) return instead();
    try {
      await put();
    } catch (error) {
      if (!(error instanceof InferenceError && error.code === "UNAVAILABLE")) throw error;
      full = true;
      onFull(error);
      await instead();
    }
  }

  return {
    get location() {
      return spilled ? memory.location : store.location;
    },
    async hasChunk(sha256) {
      return (await memory.hasChunk(sha256)) || (await store.hasChunk(sha256));
    },
    putChunk: (sha256, bytes) =>
      putOr(
        () => store.putChunk(sha256, bytes),
        () => {
          spilled = true;
          return memory.putChunk(sha256, bytes);
        },
      ),
    async getChunk(sha256) {
      return (await memory.getChunk(sha256)) ?? (await store.getChunk(sha256));
    },
    async getFile(sha256) {
      return (await memory.getFile(sha256)) ?? (await store.getFile(sha256));
    },
    /** Once full, a record in the store could promise chunks that only memory has. */
    putFile: (file) =>
      putOr(
        () => store.putFile(file),
        () => memory.putFile(file),
      ),
    async files() {
      return [...(await store.files()), ...(await memory.files())];
    },
    async deleteFile(sha256) {
      await memory.deleteFile(sha256);
      await store.deleteFile(sha256);
    },
    async sweepChunks(kept) {
      await memory.sweepChunks(kept);
      await store.sweepChunks(kept);
    },
    getDocument: (key) => store.getDocument(key),
    putDocument: (key, text) => store.putDocument(key, text),
  };
}
