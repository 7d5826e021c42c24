import { createReadStream } from "node:fs";
import { join } from "node:path";
import type { RepositoryManifest, RepositorySource } from "@naiad/core";
import { InferenceError } from "@naiad/protocol";
import type { HashCache } from "../../../hash-file.ts";
import { hashFile } from "../../../hash-file.ts";
import { createRepositoryScanner } from "../../../repository-scanner.ts";
import type { RepositoryFiles } from "./repository-files.ts";

export interface DirectorySourceOptions {
  /** Hears of every file that a manifest names. */
  readonly files: Pick<RepositoryFiles, "know">;
  readonly onWarning: (message: string) => void;
}

/** A model repository in a directory, as Triton has it. Files that have not changed are not read again for the next manifest. */
export function createDirectorySource(
  directory: string,
  { files, onWarning }: DirectorySourceOptions,
): RepositorySource {
  const cache: HashCache = new Map();

  async function describe(path: string): ReturnType<typeof hashFile> {
    const hash = await hashFile(path, cache);
    files.know(path, hash);
    return hash;
  }

  const scan = createRepositoryScanner(directory, { describe, onWarning });

  async function scanned(): Promise<RepositoryManifest> {
    try {
      return await scan();
    } catch (thrown) {
      const { message } = InferenceError.from(thrown);
      throw new InferenceError("UNAVAILABLE", `failed to read the model repository: ${message}`, {
        cause: thrown,
      });
    }
  }

  return {
    id: directory,
    async manifest(signal) {
      const manifest = await scanned();
      signal.throwIfAborted();
      return manifest;
    },
    async *read(modelName, path, { start, end }, signal) {
      if (start === end) return;
      const stream = createReadStream(join(directory, modelName, path), { start, end: end - 1, signal });
      for await (const piece of stream as AsyncIterable<Buffer>) yield new Uint8Array(piece);
    },
  };
}
