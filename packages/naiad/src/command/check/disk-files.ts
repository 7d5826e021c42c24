import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ManifestModel, ModelFiles } from "@naiad/core";
import { InferenceError } from "@naiad/protocol";

/** A model's directory on disk as core's port; nothing is kept of what is read. */
export function createDiskFiles(repository: string, model: ManifestModel): ModelFiles {
  return {
    entries: model.files,
    location: { kind: "memory" },
    read: async (path, range) => {
      if (!model.files.some((file) => file.path === path)) {
        throw new InferenceError("NOT_FOUND", `no file '${path}' in model '${model.name}'`);
      }
      const full = join(repository, model.name, path);
      if (range === undefined) return new Uint8Array(await readFile(full));
      return readRange(full, range);
    },
  };
}

async function readRange(
  path: string,
  { start, end }: { readonly start: number; readonly end: number },
): Promise<Uint8Array> {
  const bytes = new Uint8Array(end - start);
  const file = await open(path);
  try {
    for (let filled = 0; filled < bytes.length;) {
      const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, start + filled);
      if (bytesRead === 0) throw new Error(`${path} became shorter while it was read`);
      filled += bytesRead;
    }
    return bytes;
  } finally {
    await file.close();
  }
}
