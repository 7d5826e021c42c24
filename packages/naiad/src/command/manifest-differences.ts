import type { RepositoryManifest } from "@naiad/core";

/** What turns one manifest into another: `+` new, `-` gone, `~` changed; paths with the model's name. */
export function manifestDifferences(
  before: RepositoryManifest,
  after: RepositoryManifest,
): readonly string[] {
  const old = contentByPath(before);
  const now = contentByPath(after);
  const paths = [...new Set([...old.keys(), ...now.keys()])].sort();
  return paths.flatMap((path) => {
    const [was, is] = [old.get(path), now.get(path)];
    if (was === is) return [];
    return [`${was === undefined ? "+" : is === undefined ? "-" : "~"} ${path}`];
  });
}

/** Directories count as content too: an empty one is a version of an ensemble. */
function contentByPath({ models }: RepositoryManifest): ReadonlyMap<string, string> {
  return new Map(
    models.flatMap(({ directories, files, name }) => [
      [`${name}/`, ""] as const,
      ...directories.map((directory) => [`${name}/${directory}/`, ""] as const),
      ...files.map(
        ({ chunks, path, sha256, size }) => [`${name}/${path}`, [sha256, size, ...chunks].join()] as const,
      ),
    ]),
  );
}
