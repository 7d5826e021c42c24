import { createMemoryFileStore, type FileStore, type Logger, type StoreLocation } from "@naiad/core";
import { InferenceError } from "@naiad/protocol";
import { openIndexedDbStore } from "./idb-file-store.ts";

const PROBE_KEY = "self-test: storage";

/**
 * The best store that this browser grants: IndexedDB, or memory where that fails (some private windows, storage blocked
 * by the user). Models are then downloaded again by every page, and the log says so.
 */
export async function openFileStore(name: string, logger: Logger): Promise<FileStore> {
  const store = openIndexedDbStore(name);
  try {
    await store.putDocument(PROBE_KEY, name);
    if ((await store.getDocument(PROBE_KEY)) === name) return store;
    logger.log(
      "warning",
      "models are kept in memory only: this browser's IndexedDB does not keep what is stored",
    );
  } catch (error) {
    logger.log("warning", `models are kept in memory only: ${InferenceError.from(error).message}`);
  }
  return createMemoryFileStore();
}

/** What a worker opens for itself, or `undefined` where the bytes must be posted to it. */
export function openStoreAt(location: StoreLocation): FileStore | undefined {
  switch (location.kind) {
    case "indexeddb":
      return openIndexedDbStore(location.name);
    case "memory":
      return undefined;
  }
}
