import { del, get, set, type UseStore } from "idb-keyval";

/**
 * How a chunk lies in IndexedDB. Chromium keeps a Blob as a file and reads it several times faster than an ArrayBuffer;
 * Safari's private windows cannot store Blobs, and some of its versions fail to read them back.
 */
export type ChunkForm = "blob" | "buffer";

const SELF_TEST_KEY = "self-test: blob";

/** Stores a small Blob and reads it back. */
export async function supportedChunkForm(database: UseStore): Promise<ChunkForm> {
  try {
    await set(SELF_TEST_KEY, new Blob([Uint8Array.of(3, 1, 4)]), database);
    const bytes = await bytesOfValue(await get<unknown>(SELF_TEST_KEY, database));
    return bytes?.join() === "3,1,4" ? "blob" : "buffer";
  } catch {
    return "buffer";
  } finally {
    await del(SELF_TEST_KEY, database).catch(() => undefined);
  }
}

/** Blob and ArrayBuffer both stand for exactly these bytes, not for the whole buffer they are a view of. */
export function valueOfBytes(bytes: Uint8Array, form: ChunkForm): Blob | ArrayBuffer {
  const { buffer } = bytes;
  const whole =
    buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength
      ? buffer
      : new Uint8Array(bytes).buffer;
  return form === "blob" ? new Blob([whole]) : whole;
}

/** Either form, whichever this browser chose when the value was written. */
export async function bytesOfValue(value: unknown): Promise<Uint8Array | undefined> {
  if (value instanceof Blob) return new Uint8Array(await value.arrayBuffer());
  return value instanceof ArrayBuffer ? new Uint8Array(value) : undefined;
}
