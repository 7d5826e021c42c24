import { joinedPath } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";
import { parse } from "es-module-lexer/js";
import type { FileReader } from "../model-host.ts";
import type { Replacement } from "./rewrite-imports.ts";
import { importTarget, rewriteImports } from "./rewrite-imports.ts";

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
 * each other in a circle. Files named by an expression cannot be found.
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
      throw invalid(
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
    const [imports] = parseModule(path, source);
    const replacements: Replacement[] = [];
    for (const found of imports) {
      const target = importTarget(found);
      if (target.kind === "bare") throw invalid(bareText(path, target.specifier));
      if (target.kind !== "relative") continue;
      const imported = resolve(path, target.specifier, files);
      replacements.push({ import: found, specifier: await urlOf(imported, importers) });
    }
    return rewriteImports(source, replacements);
  }

  return { entryUrl: await urlOf(entry, []), paths };
}

function parseModule(path: string, source: string): ReturnType<typeof parse> {
  try {
    return parse(source, path);
  } catch (thrown) {
    throw invalid(`'${path}' is no module: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
}

function resolve(importer: string, specifier: string, { paths }: FileReader): string {
  const directory = importer.slice(0, importer.lastIndexOf("/") + 1);
  const path = specifier.startsWith("/") ? undefined : joinedPath(directory, specifier);
  if (path !== undefined && paths.includes(path)) return path;
  throw invalid(`'${importer}' imports '${specifier}', and the model has no such file`);
}

function bareText(path: string, specifier: string): string {
  return (
    `'${path}' imports '${specifier}', which is no file of the model: give the file's path ('./…'), and bundle ` +
    "what comes from packages"
  );
}

function invalid(message: string): InferenceError {
  return new InferenceError("INVALID_ARG", message);
}
