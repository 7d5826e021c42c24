import type { FileHandle } from "node:fs/promises";
import { open } from "node:fs/promises";

/** A file with a list in JSON that is whole after each `append`, so that whatever ends the process leaves a list. */
export interface JsonListFile {
  /** Objects as they stand in the file, with commas between. Rejects where they cannot be written. One at a time. */
  append(objects: string): Promise<void>;
  close(): Promise<void>;
}

/** Nothing is there before the first `append`, which takes the place of what was there. */
export function createJsonListFile(path: string): JsonListFile {
  let handle: FileHandle | undefined;
  /** Of the bracket at the end. */
  let end = 0;

  /** Who empties the file, as those do who rotate logs, gets a new list. */
  async function followOthers(file: FileHandle): Promise<void> {
    const { size } = await file.stat();
    if (size === 0) end = 0;
    else if (end > 0 && size !== end + 1) throw new Error(`somebody else writes to '${path}' too`);
  }

  /** What a full disk has taken of something goes again. */
  async function makeWhole(file: FileHandle): Promise<void> {
    try {
      if (end > 0) await writeAt(file, Buffer.from("]"), end);
      await file.truncate(end === 0 ? 0 : end + 1);
    } catch {
      // Told is what went wrong first.
    }
  }

  return {
    async append(objects) {
      handle ??= await open(path, "w");
      await followOthers(handle);
      const bytes = Buffer.from(`${end === 0 ? "[" : ","}${objects}]`);
      try {
        await writeAt(handle, bytes, end);
      } catch (thrown) {
        await makeWhole(handle);
        throw thrown;
      }
      end += bytes.length - 1;
    },
    async close() {
      await handle?.close();
      handle = undefined;
    },
  };
}

async function writeAt(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    const at = position + written;
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, at);
    written += bytesWritten;
  }
}
