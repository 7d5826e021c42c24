import type { FileReader } from "../model-host.ts";
import { fileImports } from "./file-imports.ts";
import type { CodePlatform } from "./load-code.ts";

/** `<file>:<line>:<column>` of the first among a model's modules that is no JavaScript, as far as the platform finds one. */
export async function syntaxErrorPlace(
  entry: string,
  files: FileReader,
  placeInText: NonNullable<CodePlatform["placeInText"]>,
): Promise<string | undefined> {
  const paths = new Set([entry]);
  // What is added on the way is visited too.
  for (const path of paths) {
    if (path.endsWith(".json")) continue;
    const text = new TextDecoder().decode(await files.read(path));
    const place = await placeInText(text);
    if (place !== undefined) return `${path}:${place.line}:${place.column}`;
    for (const imported of fileImports(path, text, files) ?? []) paths.add(imported.path);
  }
  return undefined;
}
