import { readdir, realpath, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { ManifestModel, ModelFile, RepositoryManifest } from "@naiad/core";
import { type FileHash, type HashCache, hashFile } from "./hash-file.ts";

export interface ScanOptions {
  /** Given again, unchanged files are not read again. */
  readonly cache?: HashCache;
  /** In place of reading the whole file for its hashes. */
  readonly describe?: (path: string) => Promise<Pick<FileHash, "size" | "sha256" | "chunks">>;
  /** Told of what is left out although it is not hidden. */
  readonly onWarning?: (message: string) => void;
  /** What becomes of files and directories that this user may not read. Default: the scan rejects. */
  readonly forbidden?: "reject" | "leave out";
}

/**
 * The manifest of a directory laid out as a Triton model repository: every directory in it is a model. As in Triton, hidden
 * entries and plain files at the root do not count; hidden files inside a model are left out too.
 *
 * Symbolic links are followed, as Triton does, but never back into a directory that is being walked. What a link in a model's
 * directory only repeats is left out: `latest -> 3`, and `7 -> 3`, which would make a second version of one directory.
 *
 * Names are sorted, so that equal content gives an equal manifest.
 */
export async function scanRepository(
  directory: string,
  options: ScanOptions = {},
): Promise<RepositoryManifest> {
  const cache: HashCache = options.cache ?? new Map<string, FileHash>();
  const describe = options.describe ?? ((path: string) => hashFile(path, cache));
  const { forbidden = "reject", onWarning = () => undefined } = options;
  const root = await realpath(directory);
  const models: ManifestModel[] = [];
  for (const entry of await visibleEntries(directory, onWarning)) {
    if (entry.kind === "file" || leadsBack(entry, [root], onWarning)) continue;
    models.push(await scanModel(entry, { root, describe, forbidden, onWarning }));
  }
  return { models };
}

interface Entry {
  readonly name: string;
  readonly path: string;
  /** With every link resolved. */
  readonly realPath: string;
  readonly isLink: boolean;
  readonly kind: "directory" | "file";
}

interface Scan {
  readonly root: string;
  readonly describe: NonNullable<ScanOptions["describe"]>;
  readonly forbidden: NonNullable<ScanOptions["forbidden"]>;
  readonly onWarning: (message: string) => void;
}

async function scanModel(model: Entry, scan: Scan): Promise<ManifestModel> {
  const directories: string[] = [];
  const files: ModelFile[] = [];

  async function walk(directory: Entry, ancestors: readonly string[]): Promise<void> {
    const walking = [...ancestors, directory.realPath];
    const entries =
      (await unlessForbidden(directory, () => visibleEntries(directory.path, scan.onWarning))) ?? [];
    // What a link may repeat comes before it.
    for (const entry of [
      ...entries.filter(({ isLink }) => !isLink),
      ...entries.filter(({ isLink }) => isLink),
    ]) {
      const path = relative(model.path, entry.path).split(sep).join("/");
      if (entry.kind === "file") {
        const described = await unlessForbidden(entry, () => scan.describe(entry.realPath));
        if (described === undefined) continue;
        const { size, sha256, chunks } = described;
        files.push({ path, size, sha256, chunks });
        continue;
      }
      if (leadsBack(entry, walking, scan.onWarning)) continue;
      if (directory === model) {
        if (repeats(entry)) continue;
        directories.push(entry.name);
      }
      await walk(entry, walking);
    }
  }

  async function unlessForbidden<Result>(
    entry: Entry,
    read: () => Promise<Result>,
  ): Promise<Result | undefined> {
    try {
      return await read();
    } catch (error) {
      if (scan.forbidden === "reject" || !isForbidden(error)) throw error;
      scan.onWarning(`${entry.path}: left out, permission to read it is denied`);
      return undefined;
    }
  }

  /** Real paths of version directories and the names under which they were listed. */
  const versions = new Map<string, string>();

  function repeats(entry: Entry): boolean {
    const isVersion = /^\d+$/.test(entry.name);
    if (!entry.isLink) {
      if (isVersion) versions.set(entry.realPath, entry.name);
      return false;
    }
    const version = versions.get(entry.realPath);
    if (isVersion && version !== undefined) {
      scan.onWarning(`${entry.path}: left out, this link makes a second version of '${version}'`);
      return true;
    }
    if (isVersion) versions.set(entry.realPath, entry.name);
    return !isVersion && isInside(entry.realPath, model.realPath);
  }

  await walk(model, [scan.root]);
  files.sort((a, b) => compareText(a.path, b.path));
  directories.sort(compareText);
  return { name: model.name, directories, files };
}

function leadsBack(entry: Entry, walking: readonly string[], onWarning: (message: string) => void): boolean {
  const isLoop = walking.some((directory) => isInside(directory, entry.realPath));
  if (isLoop) onWarning(`${entry.path}: left out, this link leads back to a directory that contains it`);
  return isLoop;
}

/** Files and directories, through links, sorted by name. What is neither, and links to nothing, are warned about. */
async function visibleEntries(
  directory: string,
  onWarning: (message: string) => void,
): Promise<readonly Entry[]> {
  const found: Entry[] = [];
  for (const dirent of await readdir(directory, { withFileTypes: true })) {
    const { name } = dirent;
    if (name.startsWith(".")) continue;
    const path = join(directory, name);
    try {
      const [realPath, stats] = await Promise.all([realpath(path), stat(path)]);
      if (!stats.isFile() && !stats.isDirectory()) {
        onWarning(`${path}: left out, neither a file nor a directory`);
        continue;
      }
      const kind = stats.isDirectory() ? "directory" : "file";
      found.push({ name, path, realPath, isLink: dirent.isSymbolicLink(), kind });
    } catch (error) {
      if (!dirent.isSymbolicLink()) throw error;
      onWarning(`${path}: left out, a link that leads nowhere`);
    }
  }
  return found.sort((a, b) => compareText(a.name, b.name));
}

function isForbidden(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "EACCES" || error.code === "EPERM");
}

/** Whether `inner` is `outer` or lies in it; both real paths. */
function isInside(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(outer.endsWith(sep) ? outer : outer + sep);
}

/** By code unit: the same order on every machine, whatever its language. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
