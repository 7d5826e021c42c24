import { InferenceError } from "@naiad/protocol";
import type { FileReader } from "../model-host.ts";
import { fileImports } from "./file-imports.ts";
import type { Replacement } from "./rewrite-imports.ts";
import { rewriteImports } from "./rewrite-imports.ts";

/** Makes an address for a module's text: a blob's, or a `data:` one where a platform imports no blobs. */
export type MakeModuleUrl = (source: string, mimeType: "text/javascript" | "application/json") => string;

export interface AssembledModules {
  readonly entryUrl: string;
  /** The file that an address stands for. */
  readonly paths: ReadonlyMap<string, string>;
}

/**
 * Addresses for a model's modules that need no server: each file's imports of other files are replaced by these files'
 * addresses, and it becomes an address itself. What only a server can do is refused with INVALID_ARG: modules that import
 * each other in a circle. Files named by an expression cannot be found. A text that is no module keeps its own address, so
 * that importing it tells what is wrong.
 */
export async function assembleModules(
  entry: string,
  files: FileReader,
  makeUrl: MakeModuleUrl,
): Promise<AssembledModules> {
  const urls = new Map<string, Promise<string>>();
  const paths = new Map<string, string>();

  function urlOf(path: string, importers: readonly string[]): Promise<string> {
    if (importers.includes(path)) {
      const circle = [...importers.slice(importers.indexOf(path)), path]
        .map((name) => `'${name}'`)
        .join(" -> ");
      throw new InferenceError(
        "INVALID_ARG",
        `modules import each other in a circle (${circle}), which works only where a service worker serves them`,
      );
    }
    const known = urls.get(path);
    if (known !== undefined) return known;
    const made = make(path, importers);
    urls.set(path, made);
    return made;
  }

  async function make(path: string, importers: readonly string[]): Promise<string> {
    const text = new TextDecoder().decode(await files.read(path));
    const url = path.endsWith(".json")
      ? makeUrl(text, "application/json")
      : makeUrl(await rewritten(path, text, [...importers, path]), "text/javascript");
    paths.set(url, path);
    return url;
  }

  async function rewritten(path: string, source: string, importers: readonly string[]): Promise<string> {
    const replacements: Replacement[] = [];
    for (const { found, path: imported } of fileImports(path, source, files) ?? []) {
      replacements.push({ import: found, specifier: await urlOf(imported, importers) });
    }
    return rewriteImports(source, replacements);
  }

  return { entryUrl: await urlOf(entry, []), paths };
}
