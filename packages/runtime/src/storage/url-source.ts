import {
  type FileStore,
  type Logger,
  parseManifest,
  type RepositoryManifest,
  type RepositorySource,
} from "@naiad/core";
import { InferenceError, type RepositoryLocation } from "@naiad/protocol";
import { type Fetch, readUrlRange } from "./url-range.ts";

export interface UrlSourceDependencies {
  readonly fetch: Fetch;
  /** Keeps the last manifest, so that what is stored can be loaded without the network. */
  readonly store: Pick<FileStore, "getDocument" | "putDocument">;
  readonly logger?: Logger;
}

/**
 * A model repository on any static host: `<url>/index.json` is its manifest, `<url>/<model>/<path>` are its files. Hosts
 * that ignore ranges work too. A manifest in `location` takes the place of `index.json`.
 */
export function createUrlSource(
  location: RepositoryLocation,
  dependencies: UrlSourceDependencies,
): RepositorySource {
  // Taken out of the object: the browser's `fetch` refuses to be called as a method of another.
  const { fetch, logger, store } = dependencies;
  const base = location.url.endsWith("/") ? location.url : `${location.url}/`;
  const manifestUrl = `${base}index.json`;
  // Its manifest is made on the way, and no file that somebody could look for.
  const shownManifest = location.shownAs ?? manifestUrl;
  const shownBase = location.shownAs === undefined ? base : `${location.shownAs}/`;
  const documentKey = `manifest: ${base}`;
  const withoutRanges = new Set<string>();
  let isAway = false;

  async function remembered(failure: InferenceError): Promise<RepositoryManifest> {
    const text = await store.getDocument(documentKey);
    if (text === undefined) throw failure;
    // Every load asks for the manifest again; an outage is told once.
    if (!isAway) logger?.log("warning", `${failure.message}; using the manifest of the last visit`);
    isAway = true;
    return readManifest(text, shownManifest);
  }

  return {
    id: location.shownAs ?? base,

    async manifest(signal) {
      if (location.manifest !== undefined)
        return readManifest(location.manifest, `the manifest given for ${shownBase}`);
      const answer = await fetchManifest({ fetch, url: manifestUrl, shownAs: location.shownAs }, signal);
      if (answer.kind === "unreachable") return remembered(answer.error);
      if (isAway) logger?.log("info", `${shownManifest} can be reached again`);
      isAway = false;
      const manifest = readManifest(answer.text, shownManifest);
      await store.putDocument(documentKey, answer.text).catch((error: unknown) => {
        logger?.log(
          "warning",
          `the manifest of ${shownBase} could not be stored: ${InferenceError.from(error).message}`,
        );
      });
      return manifest;
    },

    read(modelName, path, range, signal) {
      const url = base + [modelName, ...path.split("/")].map(encodeURIComponent).join("/");
      const shownAs = location.shownAs === undefined ? url : `${shownBase}${modelName}/${path}`;
      return readUrlRange({ url, shownAs, range, signal, fetch, withoutRanges });
    },
  };
}

type ManifestAnswer =
  | { readonly kind: "text"; readonly text: string }
  /** Nobody there, or a server in trouble: worth looking at what was there the last time. */
  | { readonly kind: "unreachable"; readonly error: InferenceError };

interface ManifestAddress {
  readonly fetch: Fetch;
  readonly url: string;
  readonly shownAs: string | undefined;
}

/** Throws the signal's reason, and UNAVAILABLE for an answer that means there is no manifest. */
async function fetchManifest(
  { fetch, shownAs, url }: ManifestAddress,
  signal: AbortSignal,
): Promise<ManifestAnswer> {
  const shown = shownAs ?? url;
  let response: Response;
  let text: string;
  try {
    // Asks the server each time: a manifest from the HTTP cache would name files that a deploy has replaced.
    response = await fetch(url, { cache: "no-cache", signal });
    text = await response.text();
  } catch (error) {
    signal.throwIfAborted();
    return {
      kind: "unreachable",
      error: unavailable(`${shown}: ${InferenceError.from(error).message}`, error),
    };
  }
  if (response.status >= 500 || response.status === 429) {
    const status = `HTTP status ${String(response.status)}`;
    // What serves a directory under its name is of our own, and says what the matter is.
    const why = shownAs === undefined || text.trim() === "" ? status : text.trim();
    return { kind: "unreachable", error: unavailable(`${shown}: ${why}`) };
  }
  if (shownAs !== undefined && !response.ok) throw unavailable(`no model repository at ${shownAs}`);
  const advice = "write the manifest with 'naiad index <directory>' or pass one in the options";
  if (!response.ok) {
    throw unavailable(`no model repository at ${url}: HTTP status ${String(response.status)}; ${advice}`);
  }
  if (isHtml(response, text)) {
    throw unavailable(
      `no model repository at ${url}: the server answered with an HTML page, as many do for a path that they do not ` +
        `have; ${advice}`,
    );
  }
  return { kind: "text", text };
}

function isHtml(response: Response, text: string): boolean {
  return response.headers.get("content-type")?.includes("html") === true || text.trimStart().startsWith("<");
}

function readManifest(text: string, origin: string): RepositoryManifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new InferenceError("INVALID_ARG", `${origin}: ${InferenceError.from(error).message}`, {
      cause: error,
    });
  }
  try {
    return parseManifest(value);
  } catch (error) {
    const { code, message } = InferenceError.from(error);
    throw new InferenceError(code, `${origin}: ${message}`, { cause: error });
  }
}

function unavailable(message: string, cause?: unknown): InferenceError {
  return new InferenceError("UNAVAILABLE", message, { cause });
}
