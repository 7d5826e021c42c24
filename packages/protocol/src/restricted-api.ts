import { RESTRICTED_CATEGORIES, type RestrictedCategory } from "./operations.ts";

/** HTTP requests of some categories that are answered only where a header has a value. */
export interface RestrictedApi {
  readonly categories: readonly RestrictedCategory[];
  /** As in the option; the case of a header's name has no meaning. */
  readonly header: string;
  readonly value: string;
}

/**
 * Reads Triton's `--http-restricted-api`: `<category>[,<category>...]:<header>=<value>`, several of them for several
 * headers. Throws a TypeError for what is not of this form, for unknown categories, and for one that stands in two texts.
 */
export function parseRestrictedApis(texts: readonly string[]): readonly RestrictedApi[] {
  const seen = new Set<RestrictedCategory>();
  return texts.map((text) => {
    const { names = "", header = "", value = "" } = FORM.exec(text)?.groups ?? {};
    if (header === "") {
      throw new TypeError(
        `restricted API '${text}' is not of the form <category>[,<category>...]:<header>=<value>`,
      );
    }
    const categories = names.split(",").map(readCategory);
    for (const category of categories) {
      if (seen.has(category)) {
        throw new TypeError(`restricted API '${category}' can not be specified in multiple groups`);
      }
      seen.add(category);
    }
    return { categories, header, value };
  });
}

const FORM = /^(?<names>[^:]+):(?<header>[^=\s]+)=(?<value>.*)$/s;

function readCategory(name: string): RestrictedCategory {
  const found = RESTRICTED_CATEGORIES.find((category) => category === name);
  if (found !== undefined) return found;
  throw new TypeError(`unknown restricted API '${name}': there are ${RESTRICTED_CATEGORIES.join(", ")}`);
}
