import type { FileStore, StoredFile } from "@naiad/core";
import { describe, expect, it } from "vitest";

const hash = (letter: string): string => letter.repeat(64);
const file = (letter: string, chunks: readonly string[]): StoredFile => ({
  sha256: hash(letter),
  size: chunks.length * 4,
  chunks: chunks.map(hash),
});

async function putWhole(store: FileStore, record: StoredFile): Promise<void> {
  for (const chunk of record.chunks) await store.putChunk(chunk, new TextEncoder().encode(chunk.slice(0, 4)));
  await store.putFile(record);
}

/** What every `FileStore` must do. `open` gives an empty store. */
export function describeFileStore(name: string, open: () => FileStore | Promise<FileStore>): void {
  describe(`${name} as a file store`, () => {
    it("gives back chunks as they were, each time as a copy of its own", async () => {
      const store = await open();
      expect(await store.hasChunk(hash("a"))).toBe(false);
      expect(await store.getChunk(hash("a"))).toBeUndefined();
      await store.putChunk(hash("a"), Uint8Array.of(1, 2, 3));
      expect(await store.hasChunk(hash("a"))).toBe(true);

      const first = await store.getChunk(hash("a"));
      expect(first).toEqual(Uint8Array.of(1, 2, 3));
      first?.fill(9);
      expect(await store.getChunk(hash("a"))).toEqual(Uint8Array.of(1, 2, 3));
    });

    it("stores a view as exactly its bytes", async () => {
      const store = await open();
      await store.putChunk(hash("a"), new Uint8Array(16).fill(7).subarray(4, 6));
      expect(await store.getChunk(hash("a"))).toEqual(Uint8Array.of(7, 7));
    });

    it("takes a chunk twice, and an empty one", async () => {
      const store = await open();
      await store.putChunk(hash("a"), Uint8Array.of(1));
      await store.putChunk(hash("a"), Uint8Array.of(1));
      await store.putChunk(hash("b"), new Uint8Array());
      expect(await store.getChunk(hash("a"))).toEqual(Uint8Array.of(1));
      expect(await store.getChunk(hash("b"))).toEqual(new Uint8Array());
    });

    it("knows a file by its record alone", async () => {
      const store = await open();
      const record = file("f", ["a", "b"]);
      await store.putChunk(hash("a"), Uint8Array.of(1));
      await store.putChunk(hash("b"), Uint8Array.of(2));
      expect(await store.getFile(record.sha256)).toBeUndefined();
      expect(await store.files()).toEqual([]);
      await store.putFile(record);
      expect(await store.getFile(record.sha256)).toEqual(record);
      expect(await store.files()).toEqual([record]);
    });

    it("replaces a record under the same key", async () => {
      const store = await open();
      await putWhole(store, file("f", ["a"]));
      await putWhole(store, file("f", ["b", "c"]));
      expect(await store.files()).toEqual([file("f", ["b", "c"])]);
    });

    it("deletes a file with its chunks, except those that another record names", async () => {
      const store = await open();
      await putWhole(store, file("f", ["a", "b"]));
      await putWhole(store, file("g", ["b", "c"]));
      await store.deleteFile(hash("f"));
      expect(await store.files()).toEqual([file("g", ["b", "c"])]);
      expect(await Promise.all(["a", "b", "c"].map((chunk) => store.hasChunk(hash(chunk))))).toEqual([
        false,
        true,
        true,
      ]);
    });

    it("keeps chunks of a download that is not complete yet", async () => {
      const store = await open();
      await putWhole(store, file("f", ["a", "b"]));
      await store.putChunk(hash("b"), Uint8Array.of(1));
      await store.putChunk(hash("n"), Uint8Array.of(2));
      await store.deleteFile(hash("f"));
      expect(await Promise.all(["a", "b", "n"].map((chunk) => store.hasChunk(hash(chunk))))).toEqual([
        false,
        true,
        true,
      ]);
    });

    it("sweeps chunks that no record names, except those wanted and those of a download that goes on", async () => {
      const store = await open();
      await putWhole(store, file("f", ["a", "b"]));
      await putWhole(store, file("f", ["b"]));
      await putWhole(store, file("g", ["c", "d"]));
      await putWhole(store, file("g", ["d"]));
      await store.putChunk(hash("n"), Uint8Array.of(1));
      await store.sweepChunks(new Set([hash("c"), hash("x")]));
      const left = await Promise.all(["a", "b", "c", "d", "n"].map((chunk) => store.hasChunk(hash(chunk))));
      expect(left).toEqual([false, true, true, true, true]);
    });

    it("leaves chunks alone that are not those of the deleted file", async () => {
      const store = await open();
      await putWhole(store, file("f", ["a"]));
      await putWhole(store, file("f", ["b"]));
      await store.deleteFile(hash("f"));
      expect(await store.hasChunk(hash("a"))).toBe(true);
      expect(await store.hasChunk(hash("b"))).toBe(false);
    });

    it("lets a file be deleted that it does not have", async () => {
      const store = await open();
      await putWhole(store, file("f", ["a"]));
      await store.deleteFile(hash("x"));
      expect(await store.getFile(hash("f"))).toEqual(file("f", ["a"]));
      expect(await store.hasChunk(hash("a"))).toBe(true);
    });

    it("keeps documents", async () => {
      const store = await open();
      expect(await store.getDocument("manifest")).toBeUndefined();
      await store.putDocument("manifest", "{}");
      await store.putDocument("manifest", '{"a":"ä"}');
      expect(await store.getDocument("manifest")).toBe('{"a":"ä"}');
      expect(await store.files()).toEqual([]);
    });
  });
}
