import { describeFileStore } from "@naiad/testing";
import { IDBFactory, IDBObjectStore } from "fake-indexeddb";
import "fake-indexeddb/auto";
import { get, set } from "idb-keyval";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openKeyValueDatabase } from "./idb-database.ts";
import { openIndexedDbStore } from "./idb-file-store.ts";
import { openFileStore, openStoreAt } from "./open-file-store.ts";

const sha256 = "a".repeat(64);

beforeEach(() => {
  globalThis.indexedDB = new IDBFactory();
});
afterEach(() => {
  vi.restoreAllMocks();
});

describeFileStore("IndexedDB with Blobs", () => openIndexedDbStore("test", { chunkForm: "blob" }));
describeFileStore("IndexedDB with ArrayBuffers", () => openIndexedDbStore("test", { chunkForm: "buffer" }));

/** Makes the engine refuse some values, as a browser does; what it stores is real. */
function refusePuts(when: (value: unknown) => boolean, error: DOMException): void {
  const real = Object.getOwnPropertyDescriptor(IDBObjectStore.prototype, "put")
    ?.value as IDBObjectStore["put"];
  vi.spyOn(IDBObjectStore.prototype, "put").mockImplementation(function (this: IDBObjectStore, value, key) {
    if (when(value)) throw error;
    return real.call(this, value, key);
  });
}

describe("openIndexedDbStore", () => {
  it("finds everything again on another visit", async () => {
    const before = openIndexedDbStore("test");
    await before.putChunk(sha256, Uint8Array.of(1, 2));
    await before.putFile({ sha256, size: 2, chunks: [sha256] });
    const after = openStoreAt(before.location);
    expect(await after?.getChunk(sha256)).toEqual(Uint8Array.of(1, 2));
    expect(await after?.files()).toEqual([{ sha256, size: 2, chunks: [sha256] }]);
  });

  it("stores Blobs where the browser can, else ArrayBuffers", async () => {
    await openIndexedDbStore("able").putChunk(sha256, Uint8Array.of(1));
    expect(await get(sha256, openKeyValueDatabase("able-chunks"))).toBeInstanceOf(Blob);

    refusePuts(
      (value) => value instanceof Blob,
      new DOMException("BlobURLs are not yet supported", "DataCloneError"),
    );
    const unable = openIndexedDbStore("unable");
    await unable.putChunk(sha256, Uint8Array.of(1));
    expect(await get(sha256, openKeyValueDatabase("unable-chunks"))).toBeInstanceOf(ArrayBuffer);
    expect(await unable.getChunk(sha256)).toEqual(Uint8Array.of(1));
  });

  it("sweeps the orphans of an earlier visit", async () => {
    await openIndexedDbStore("test").putChunk(sha256, Uint8Array.of(1));
    const later = openIndexedDbStore("test");
    expect(await later.hasChunk(sha256)).toBe(true);
    await later.sweepChunks(new Set());
    expect(await later.hasChunk(sha256)).toBe(false);
  });

  it("says that the quota is used up with a code, and leaves the bytes alone", async () => {
    const store = openIndexedDbStore("test", { chunkForm: "buffer" });
    refusePuts(() => true, new DOMException("", "QuotaExceededError"));
    const bytes = Uint8Array.of(1, 2);
    await expect(store.putChunk(sha256, bytes)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "the browser's storage quota for this site is used up",
    });
    expect(bytes).toEqual(Uint8Array.of(1, 2));
    await expect(store.putFile({ sha256, size: 2, chunks: [] })).rejects.toMatchObject({
      code: "UNAVAILABLE",
    });
    await expect(store.putDocument("manifest", "{}")).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  it("opens again when the connection is gone, also in the middle of several calls", async () => {
    const store = openIndexedDbStore("test", { chunkForm: "buffer" });
    await store.putChunk(sha256, Uint8Array.of(1));
    const closed = openKeyValueDatabase("test-chunks");
    await closed("readonly", ({ transaction }) => {
      transaction.db.close();
    });
    expect(await Promise.all([get(sha256, closed), get(sha256, closed)])).toHaveLength(2);

    // Deleting the database closes every connection to it, and is not blocked by them.
    await new Promise((resolve, reject) => {
      const request = indexedDB.deleteDatabase("test-chunks");
      request.onsuccess = resolve;
      request.onerror = reject;
      request.onblocked = reject;
    });
    expect(await store.hasChunk(sha256)).toBe(false);
    await store.putChunk(sha256, Uint8Array.of(2));
    expect(await store.getChunk(sha256)).toEqual(Uint8Array.of(2));
  });

  it("forgets a chunk whose bytes a cleaner took, so that it counts as missing", async () => {
    const store = openIndexedDbStore("test", { chunkForm: "blob" });
    await store.putChunk(sha256, Uint8Array.of(1));
    vi.spyOn(Blob.prototype, "arrayBuffer").mockRejectedValue(new DOMException("gone", "NotReadableError"));
    expect(await store.getChunk(sha256)).toBeUndefined();
    expect(await store.hasChunk(sha256)).toBe(false);
  });

  it("ignores what others wrote into its databases", async () => {
    await set(sha256, { sha256, size: "2" }, openKeyValueDatabase("test-files"));
    await set(sha256, "text", openKeyValueDatabase("test-chunks"));
    const store = openIndexedDbStore("test");
    expect(await store.files()).toEqual([]);
    expect(await store.getFile(sha256)).toBeUndefined();
    expect(await store.getChunk(sha256)).toBeUndefined();
  });
});

describe("openFileStore", () => {
  const collecting = (): { lines: string[]; log: (level: string, message: string) => void } => {
    const lines: string[] = [];
    return { lines, log: (level, message) => void lines.push(`${level}: ${message}`) };
  };

  it("is IndexedDB where that works", async () => {
    const logger = collecting();
    const store = await openFileStore("test", logger);
    expect(store.location).toEqual({ kind: "indexeddb", name: "test" });
    expect(logger.lines).toEqual([]);
  });

  it("is memory where it does not, and says so", async () => {
    vi.spyOn(IDBFactory.prototype, "open").mockImplementation(() => {
      throw new DOMException("A mutation operation was attempted on a database", "SecurityError");
    });
    const logger = collecting();
    const store = await openFileStore("test", logger);
    expect(store.location).toEqual({ kind: "memory" });
    expect(openStoreAt(store.location)).toBeUndefined();
    expect(logger.lines).toEqual([
      "warning: models are kept in memory only: A mutation operation was attempted on a database",
    ]);
  });
});
