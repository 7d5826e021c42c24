import type { ImportSpecifier } from "es-module-lexer/js";

/** What an import of a module names. */
export type ImportTarget =
  /** A file, relative to the module. */
  | { readonly kind: "relative"; readonly specifier: string }
  /** A whole address, which is left alone. */
  | { readonly kind: "address" }
  /** A package by its name. */
  | { readonly kind: "bare"; readonly specifier: string }
  /** Known only when it runs, or no import at all (`import.meta`). */
  | { readonly kind: "unknown" };

export function importTarget({ n: specifier }: Pick<ImportSpecifier, "n">): ImportTarget {
  if (specifier === undefined) return { kind: "unknown" };
  if (/^\.{0,2}\//.test(specifier)) return { kind: "relative", specifier };
  if (/^[a-z][a-z\d+.-]*:/i.test(specifier)) return { kind: "address" };
  return { kind: "bare", specifier };
}

export interface Replacement {
  readonly import: ImportSpecifier;
  readonly specifier: string;
}

/** The source with other specifiers; everything else stays where it was, except in the lines of these imports. */
export function rewriteImports(source: string, replacements: readonly Replacement[]): string {
  const parts: string[] = [];
  let end = 0;
  for (const {
    import: { s, e, d },
    specifier,
  } of [...replacements].sort((a, b) => a.import.s - b.import.s)) {
    // The range of a dynamic import is its argument, quotes and all; that of a static one lies between them.
    parts.push(source.slice(end, s), d > -1 ? JSON.stringify(specifier) : specifier);
    end = e;
  }
  parts.push(source.slice(end));
  return parts.join("");
}
