import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeFileStore } from "@naiad/testing";
import { afterEach, describe, expect, it } from "vitest";
import { openDiskStore } from "./disk-file-store.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "naiad-store-"));
  folders.push(made);
  return made;
}

describeFileStore("a directory", async () => openDiskStore(await folder()));

describe("openDiskStore", () => {
  it("finds again what another store in the same directory has put there", async () => {
    const directory = await folder();
    const before = await openDiskStore(directory);
    await before.putChunk("a", Uint8Array.of(1, 2));
    await before.putFile({ sha256: "f", size: 2, chunks: ["a"] });
    await before.putDocument("last host: /x", "{}");
    const after = await openDiskStore(directory);
    expect(await after.files()).toEqual([{ sha256: "f", size: 2, chunks: ["a"] }]);
    expect(await after.getChunk("a")).toEqual(Uint8Array.of(1, 2));
    expect(await after.getDocument("last host: /x")).toBe("{}");
    expect((await readdir(directory)).sort()).toEqual(["chunks", "documents", "files"]);
  });

  it("gives chunks in buffers of their own, which may change hands", async () => {
    const store = await openDiskStore(await folder());
    await store.putChunk("a", Uint8Array.of(1, 2));
    expect((await store.getChunk("a"))?.buffer.byteLength).toBe(2);
  });
});
