import type { IncomingMessage, ServerResponse } from "node:http";
import { sendError, sendFile, sendText } from "./send.ts";
import type { Site } from "./site.ts";

export type Middleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/** Serves a site's files with GET and HEAD and passes everything else on. */
export function serveSite(site: Site): Middleware {
  return (request, response, next) => {
    answer(site, request, response, next).catch(next);
  };
}

async function answer(
  site: Site,
  request: IncomingMessage,
  response: ServerResponse,
  next: () => void,
): Promise<void> {
  const [rawPath = ""] = (request.url ?? "").split("?");
  const resolution =
    request.method === "GET" || request.method === "HEAD" ? site.resolve(rawPath) : undefined;
  const exchange = { request, response };
  switch (resolution?.kind) {
    case undefined:
    case "foreign":
      next();
      return;
    case "missing":
      sendError(404, `no file at ${rawPath}`, exchange);
      return;
    case "file":
      try {
        await sendFile(resolution.path, resolution.headers, exchange);
      } catch (error) {
        if (!isMissing(error)) throw error;
        sendError(404, `no file at ${rawPath}`, exchange);
      }
      return;
    case "manifest":
      try {
        const text = await site.manifestText(resolution.directory);
        sendText(text, { "content-type": "application/json; charset=utf-8" }, exchange);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        sendError(isMissing(error) ? 404 : 503, `no manifest: ${message}`, exchange);
      }
  }
}

/** Also a file in place of a folder, a name that is too long, and a folder in place of a file. */
function isMissing(error: unknown): boolean {
  return (
    error instanceof Error &&
    "code" in error &&
    ["ENOENT", "ENOTDIR", "ENAMETOOLONG", "EISDIR"].includes(String(error.code))
  );
}

/** Makes pages cross-origin isolated, which gives them shared memory and with it WASM threads. */
export const isolateOrigin: Middleware = (_request, response, next) => {
  response.setHeader("cross-origin-opener-policy", "same-origin");
  response.setHeader("cross-origin-embedder-policy", "require-corp");
  next();
};
