/** What a model's directory holds, by path relative to it. */
export interface ModelDirectory {
  /** The directory's name, which is the model's. */
  readonly name: string;
  /** Names of the sub-directories, empty ones too. Those that `filePaths` implies may be left out. */
  readonly directories: readonly string[];
  readonly filePaths: readonly string[];
}

export type EntryKind = "file" | "directory";

/** Names of all sub-directories in the order in which Triton visits them (by character code). */
export function subDirectories(directory: ModelDirectory): readonly string[] {
  const names = new Set(directory.directories.map((path) => path.split("/")[0] ?? path));
  for (const path of directory.filePaths) {
    const slash = path.indexOf("/");
    if (slash > 0) names.add(path.slice(0, slash));
  }
  return [...names].sort();
}

/** The files and directories that stand directly in a sub-directory. */
export function entriesOf(directory: ModelDirectory, subDirectory: string): ReadonlyMap<string, EntryKind> {
  const entries = new Map<string, EntryKind>();
  const prefix = `${subDirectory}/`;
  for (const path of directory.filePaths) {
    if (!path.startsWith(prefix)) continue;
    const [name = "", ...rest] = path.slice(prefix.length).split("/");
    entries.set(name, rest.length > 0 ? "directory" : "file");
  }
  for (const path of directory.directories) {
    const name = path.startsWith(prefix) ? path.slice(prefix.length).split("/")[0] : undefined;
    if (name !== undefined && name !== "") entries.set(name, "directory");
  }
  return entries;
}
