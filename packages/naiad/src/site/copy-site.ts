import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseManifest } from "@naiad/core";
import type { Site } from "./site.ts";

/** Writes the workers, engines and the service worker into the output folder of a build. */
export async function copyAssets(site: Site, outputDirectory: string): Promise<void> {
  for (const { optional, path, urlPath } of site.files) {
    const target = join(outputDirectory, urlPath);
    await mkdir(dirname(target), { recursive: true });
    await copyFile(path, target).catch((error: unknown) => {
      if (!optional) throw error;
    });
  }
}

export interface RepositoryCopy {
  readonly directory: string;
  readonly target: string;
  /** Whether the bundler has copied the files already, as it does with its public folder. */
  readonly filesAreThere: boolean;
}

/** Writes a model repository with its manifest, which comes last: it must not name what is not there yet. */
export async function copyRepository(
  site: Site,
  { directory, filesAreThere, target }: RepositoryCopy,
): Promise<void> {
  const text = await site.manifestText(directory);
  await mkdir(target, { recursive: true });
  for (const model of parseManifest(JSON.parse(text)).models) {
    for (const { path } of filesAreThere ? [] : model.files) {
      const file = join(target, model.name, path);
      await mkdir(dirname(file), { recursive: true });
      await copyFile(join(directory, model.name, path), file);
    }
  }
  await writeFile(join(target, "index.json"), text);
}
