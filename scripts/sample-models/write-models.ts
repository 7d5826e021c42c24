import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** One model of a repository, by content. */
export interface ModelDirectory {
  readonly name: string;
  /** Content by path inside the model's directory. */
  readonly files: Readonly<Record<string, Uint8Array | string>>;
  /** Directories that may be without files. */
  readonly directories?: readonly string[];
}

export interface WriteSummary {
  readonly models: number;
  readonly written: number;
}

/**
 * Writes models below `target`. Files that are right already are left alone, so that nobody who watches or caches them by
 * their time of change is woken. What else lies there stays: it may be somebody's own.
 */
export async function writeModels(models: readonly ModelDirectory[], target: string): Promise<WriteSummary> {
  let written = 0;
  for (const { directories = [], files, name } of models) {
    for (const path of directories) await mkdir(join(target, name, path), { recursive: true });
    for (const [path, content] of Object.entries(files)) {
      const file = join(target, name, path);
      const bytes = Buffer.from(content);
      const present = await readFile(file).catch(() => undefined);
      if (present?.equals(bytes)) continue;
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, bytes);
      written += 1;
    }
  }
  return { models: models.length, written };
}

export function describeSummary({ models, written }: WriteSummary, target: string): string {
  const what = written === 0 ? "up to date" : `${String(written)} file${written === 1 ? "" : "s"} written`;
  return `${String(models)} models in ${target}: ${what}`;
}
