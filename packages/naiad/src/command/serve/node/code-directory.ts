import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Digest, ModelFiles } from "@naiad/core";
import type { ServeModelFiles } from "@naiad/runtime/in-process";

/** What an `import` can read. */
const MODULE = /\.(m?js|json|wasm)$/;

interface Served {
  /** Never used again: what is being removed is in nobody's way. */
  readonly target: string;
  readonly written: Promise<void>;
  users: number;
}

/**
 * Copies of the modules of models, as their manifests say, for `import` to read by address: it takes no bytes, and what lies in
 * the repository may change at any time. A directory for each content, as long as somebody uses it. Whatever lies in
 * `directory` before is removed.
 */
export function createCodeDirectory(directory: string, digest: Digest): ServeModelFiles {
  const served = new Map<string, Served>();
  let prepared: Promise<void> | undefined;
  let made = 0;

  async function prepare(): Promise<void> {
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { recursive: true });
    // Node.js takes `.js` for CommonJS unless told otherwise.
    await writeFile(join(directory, "package.json"), '{ "type": "module" }');
  }

  async function write(files: ModelFiles, target: string): Promise<void> {
    // Once, since threads read it at any time.
    await (prepared ??= prepare());
    for (const { path } of modulesOf(files)) {
      const file = join(target, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, await files.read(path));
    }
  }

  function open(files: ModelFiles): Served {
    made += 1;
    const target = join(directory, String(made));
    return { target, written: write(files, target), users: 0 };
  }

  return async (files) => {
    const hash = await hashOf(files, digest);
    const entry = served.get(hash) ?? open(files);
    served.set(hash, entry);
    entry.users += 1;
    let isOpen = true;
    const close = (): void => {
      if (!isOpen) return;
      isOpen = false;
      entry.users -= 1;
      if (entry.users > 0) return;
      served.delete(hash);
      // What stays goes with the server's own directory.
      void rm(entry.target, { recursive: true, force: true }).catch(() => undefined);
    };
    try {
      await entry.written;
    } catch (thrown) {
      close();
      throw thrown;
    }
    return { url: pathToFileURL(`${entry.target}/`).href, close };
  };
}

function modulesOf({ entries }: ModelFiles): ModelFiles["entries"] {
  return entries.filter(({ path }) => MODULE.test(path));
}

function hashOf(files: ModelFiles, digest: Digest): Promise<string> {
  const lines = modulesOf(files).map(({ path, sha256 }) => `${sha256} ${path}\n`);
  return digest.sha256(new TextEncoder().encode(lines.sort().join("")));
}
