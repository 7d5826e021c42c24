import type { RepositoryManifest } from "@naiad/core";
import type { ScanOptions } from "./repository-manifest.ts";
import { scanRepository } from "./repository-manifest.ts";

export interface RepositoryScannerOptions extends Pick<ScanOptions, "cache" | "describe"> {
  /** Told once of what is left out, for as long as it is. */
  readonly onWarning: (message: string) => void;
}

/**
 * For a directory that is served and looked at again and again: the result scans it. One file that may not be read is no reason to
 * serve none. Whoever asks while a scan is under way shares it.
 */
export function createRepositoryScanner(
  directory: string,
  { onWarning, ...scanned }: RepositoryScannerOptions,
): () => Promise<RepositoryManifest> {
  let told: ReadonlySet<string> = new Set();
  let running: Promise<RepositoryManifest> | undefined;

  async function scan(): Promise<RepositoryManifest> {
    const warnings = new Set<string>();
    const manifest = await scanRepository(directory, {
      ...scanned,
      forbidden: "leave out",
      onWarning: (message) => warnings.add(message),
    });
    for (const message of warnings) if (!told.has(message)) onWarning(message);
    told = warnings;
    return manifest;
  }

  return () =>
    (running ??= scan().finally(() => {
      running = undefined;
    }));
}
