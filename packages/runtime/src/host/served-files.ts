import type { Digest, ModelFiles } from "@naiad/core";
import type { ExchangeHandler, ExchangeRequest, ExchangeResponse } from "@naiad/protocol";
import type { ServeModelFiles } from "./worker-backend.ts";

/** Below the base, where files of models are served. */
export const FILES_PATH = "/v2-files/";

/** A model's files while something in them is served or about to be. */
export interface ServedDirectory {
  /** Changes with every change of a file. */
  readonly hash: string;
  readonly close: () => void;
}

/** Files of models that a worker's `import` reads through the service worker. */
export interface ServedFiles {
  open(files: ModelFiles): Promise<ServedDirectory>;
  /** Answers what is below `/v2-files/`. */
  readonly handle: ExchangeHandler;
}

/** Whatever else a model holds, a page of ours must not run: a browser that is shown bytes of no type only saves them. */
const MIME_TYPES: ReadonlyMap<string, string> = new Map([
  ["js", "text/javascript"],
  ["mjs", "text/javascript"],
  ["json", "application/json"],
  ["wasm", "application/wasm"],
]);

export function createServedFiles(digest: Digest): ServedFiles {
  const open = new Map<string, { readonly files: ModelFiles; users: number }>();

  async function read({ method, rawTarget }: ExchangeRequest): Promise<ExchangeResponse> {
    if (method !== "GET" && method !== "HEAD") return plain(405, "method not allowed");
    const [target = ""] = rawTarget.slice(FILES_PATH.length).split("?", 1);
    const slash = target.indexOf("/");
    const files = open.get(target.slice(0, slash))?.files;
    const path = decoded(target.slice(slash + 1));
    if (files === undefined || path === undefined || !files.entries.some((entry) => entry.path === path)) {
      return plain(404, "no such file of a model that is served");
    }
    const extension = path.slice(path.lastIndexOf(".") + 1);
    return {
      status: 200,
      headers: [["content-type", MIME_TYPES.get(extension) ?? "application/octet-stream"], ...GUARDS],
      body: method === "HEAD" ? new Uint8Array() : await files.read(path),
    };
  }

  return {
    async open(files) {
      const hash = await hashOf(files, digest);
      const entry = open.get(hash) ?? { files, users: 0 };
      entry.users += 1;
      open.set(hash, entry);
      let isOpen = true;
      return {
        hash,
        close() {
          if (!isOpen) return;
          isOpen = false;
          entry.users -= 1;
          if (entry.users === 0) open.delete(hash);
        },
      };
    },
    handle: read,
  };
}

const GUARDS: readonly (readonly [string, string])[] = [
  ["x-content-type-options", "nosniff"],
  ["cross-origin-resource-policy", "same-origin"],
  // Where a worker's own policy asks for it.
  ["cross-origin-embedder-policy", "require-corp"],
  // Gone when the model is.
  ["cache-control", "no-store"],
];

function plain(status: number, text: string): ExchangeResponse {
  return {
    status,
    headers: [["content-type", "text/plain; charset=utf-8"], ...GUARDS],
    body: new TextEncoder().encode(text),
  };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

async function hashOf({ entries }: ModelFiles, digest: Digest): Promise<string> {
  const lines = entries.map(({ path, sha256 }) => `${sha256} ${path}\n`).sort();
  return digest.sha256(new TextEncoder().encode(lines.join("")));
}

/** The files as they are read over HTTP below `url`. */
export function serveOverHttp(served: ServedFiles, url: string): ServeModelFiles {
  return async (files) => {
    const { hash, close } = await served.open(files);
    return { url: `${url}${hash}/`, close };
  };
}

/** The server's own exchanges, and beside them the files of models. */
export function withServedFiles(handle: ExchangeHandler, served: ServedFiles): ExchangeHandler {
  return (request) => (request.rawTarget.startsWith(FILES_PATH) ? served.handle(request) : handle(request));
}
