import type { FileStore, StoredFile } from "../ports.ts";

/**
 * A store that lasts as long as this object: for private windows, for platforms whose storage fails, and for models that
 * no longer fit into it. The bytes are held once; `getChunk` gives copies.
 */
export function createMemoryFileStore(): FileStore {
  const chunks = new Map<string, Uint8Array>();
  const files = new Map<string, StoredFile>();
  const documents = new Map<string, string>();
  /** Put, but named by no record yet: a download that is still going on counts on them. */
  const unrecorded = new Set<string>();

  function removeChunks(doomed: readonly string[], kept: ReadonlySet<string>): void {
    const recorded = new Set([...files.values()].flatMap((file) => file.chunks));
    for (const chunk of doomed) {
      if (!kept.has(chunk) && !recorded.has(chunk) && !unrecorded.has(chunk)) chunks.delete(chunk);
    }
  }

  return {
    location: { kind: "memory" },
    hasChunk: (sha256) => Promise.resolve(chunks.has(sha256)),
    putChunk(sha256, bytes) {
      chunks.set(sha256, bytes);
      unrecorded.add(sha256);
      return Promise.resolve();
    },
    getChunk: (sha256) => Promise.resolve(chunks.get(sha256)?.slice()),
    getFile: (sha256) => Promise.resolve(files.get(sha256)),
    putFile(file) {
      files.set(file.sha256, file);
      for (const chunk of file.chunks) unrecorded.delete(chunk);
      return Promise.resolve();
    },
    files: () => Promise.resolve([...files.values()]),
    deleteFile(sha256) {
      const doomed = files.get(sha256)?.chunks ?? [];
      files.delete(sha256);
      removeChunks(doomed, new Set());
      return Promise.resolve();
    },
    sweepChunks(kept) {
      removeChunks([...chunks.keys()], kept);
      return Promise.resolve();
    },
    getDocument: (key) => Promise.resolve(documents.get(key)),
    putDocument(key, text) {
      documents.set(key, text);
      return Promise.resolve();
    },
  };
}
