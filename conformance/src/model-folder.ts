import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import type { MemoryModel } from "@naiad/testing";

/** The model directories of a repository on disk. */
export function readModelRepository(folder: string): Readonly<Record<string, MemoryModel>> {
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return Object.fromEntries(names.map(({ name }) => [name, readModel(join(folder, name))]));
}

function readModel(directory: string): MemoryModel {
  const files = readdirSync(directory, { withFileTypes: true, recursive: true }).filter((entry) =>
    entry.isFile(),
  );
  return Object.fromEntries(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [relative(directory, path).replaceAll("\\", "/"), new Uint8Array(readFileSync(path))];
    }),
  );
}
