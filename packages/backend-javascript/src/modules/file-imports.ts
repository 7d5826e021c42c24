import { joinedPath } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";
import type { ImportSpecifier } from "es-module-lexer/js";
import { parse } from "es-module-lexer/js";
import type { FileReader } from "../model-host.ts";
import { importTarget } from "./rewrite-imports.ts";

/** An import of one of the model's files by another. */
interface FileImport {
  readonly found: ImportSpecifier;
  /** Of the imported file, in the model's directory. */
  readonly path: string;
}

/**
 * The files that a module of the model imports. Throws INVALID_ARG, with the place, for an import that cannot work wherever
 * the module lies. `undefined` where the text cannot be read: what is wrong with it, and where, the engine says better.
 */
export function fileImports(
  importer: string,
  source: string,
  files: Pick<FileReader, "paths">,
): readonly FileImport[] | undefined {
  return readImports(source)?.flatMap((found): readonly FileImport[] => {
    const target = importTarget(found);
    const place = `${importer}:${placeOf(found, source)}`;
    switch (target.kind) {
      case "address":
      case "unknown":
        return [];
      case "bare":
        throw invalid(
          `${place} imports '${target.specifier}', which is no file of the model: give the file's path ('./…'), and ` +
            "bundle what comes from packages",
        );
      case "relative": {
        const path = resolve(importer, target.specifier, files);
        if (path === undefined) {
          throw invalid(`${place} imports '${target.specifier}', and the model has no such file`);
        }
        if (path.endsWith(".json") && isStatic(found) && !found.at?.some(([key]) => key === "type")) {
          throw invalid(
            `${place} imports '${target.specifier}', which is no script: write with { type: "json" } behind it`,
          );
        }
        return [{ found, path }];
      }
    }
  });
}

function readImports(source: string): readonly ImportSpecifier[] | undefined {
  try {
    return parse(source)[0];
  } catch {
    return undefined;
  }
}

function resolve(
  importer: string,
  specifier: string,
  { paths }: Pick<FileReader, "paths">,
): string | undefined {
  const directory = importer.slice(0, importer.lastIndexOf("/") + 1);
  const path = specifier.startsWith("/") ? undefined : joinedPath(directory, specifier);
  return path !== undefined && paths.includes(path) ? path : undefined;
}

/** Line and column of the specifier's quote, counted from 1. */
function placeOf(found: ImportSpecifier, source: string): string {
  const before = source.slice(0, isStatic(found) ? found.s - 1 : found.s).split("\n");
  return `${before.length}:${(before.at(-1) ?? "").length + 1}`;
}

function isStatic({ d }: ImportSpecifier): boolean {
  return d === -1;
}

function invalid(message: string): InferenceError {
  return new InferenceError("INVALID_ARG", message);
}
