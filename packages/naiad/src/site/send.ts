import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { parseRange } from "./byte-range.ts";
import { contentTypeOf } from "./content-type.ts";

export type Headers = Readonly<Record<string, string>>;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * Answers GET and HEAD with a file: ranges, conditional requests, an ETag from size and time of change. Resolves when the
 * answer is out or the other side has gone; rejects with ENOENT when there is no such file.
 */
export async function sendFile(
  path: string,
  headers: Headers,
  { request, response }: Exchange,
): Promise<void> {
  const file = await open(path);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw Object.assign(new Error(`'${path}' is not a file`), { code: "ENOENT" });
    const { mtimeMs, size } = stats;
    const etag = `"${size.toString(16)}-${Math.trunc(mtimeMs).toString(16)}"`;
    setHeaders(response, { "content-type": contentTypeOf(path), "accept-ranges": "bytes", ...headers, etag });
    if (isKnown(request, etag)) {
      response.writeHead(304).end();
      return;
    }
    const ifRange = request.headers["if-range"];
    const mayCut = request.method === "GET" && (ifRange === undefined || ifRange === etag);
    const range = parseRange(mayCut ? request.headers.range : undefined, size);
    if (range.kind === "unsatisfiable") {
      response.writeHead(416, { "content-range": `bytes */${String(size)}` }).end();
      return;
    }
    const { start, end } = range.kind === "part" ? range : { start: 0, end: size };
    if (range.kind === "part") {
      response.setHeader("content-range", `bytes ${String(start)}-${String(end - 1)}/${String(size)}`);
    }
    response.writeHead(range.kind === "part" ? 206 : 200, { "content-length": end - start });
    if (request.method === "HEAD" || start === end) {
      response.end();
      return;
    }
    await pipeline(file.createReadStream({ start, end: end - 1, autoClose: false }), response).catch(
      (error: unknown) => {
        // A reader that leaves early, as one that skips a known part does, is no failure.
        if (!response.destroyed) throw error;
      },
    );
  } finally {
    await file.close();
  }
}

/** Answers GET and HEAD with a text that is made on the fly. */
export function sendText(text: string, headers: Headers, { request, response }: Exchange): void {
  const etag = `"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
  setHeaders(response, { ...headers, etag });
  if (isKnown(request, etag)) {
    response.writeHead(304).end();
    return;
  }
  response.writeHead(200, { "content-length": Buffer.byteLength(text) });
  response.end(request.method === "HEAD" ? undefined : text);
}

/** A failure as plain text; never the start page of the app. */
export function sendError(status: 404 | 503, message: string, { request, response }: Exchange): void {
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(message),
    "cache-control": "no-store",
  });
  response.end(request.method === "HEAD" ? undefined : message);
}

function setHeaders(response: ServerResponse, headers: Headers): void {
  // Asked again each time: files of a development server change under their names.
  response.setHeader("cache-control", "no-cache");
  response.setHeader("x-content-type-options", "nosniff");
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

function isKnown(request: IncomingMessage, etag: string): boolean {
  const known = request.headers["if-none-match"]?.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return known?.some((tag) => tag === etag || tag === "*") ?? false;
}
