import type { IncomingMessage, ServerResponse } from "node:http";
import { constants } from "node:http2";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { ExchangeResponse, HeaderList } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { TunnelProtocol } from "@naiad/runtime/contracts";
import type { HostSource } from "./host-source.ts";
import { standIn } from "./stand-in.ts";

export type NodeRequest = IncomingMessage | Http2ServerRequest;
export type NodeResponse = ServerResponse | Http2ServerResponse;

export interface RelayedExchange {
  readonly protocol: TunnelProtocol;
  /** Default: the request's own. */
  readonly rawTarget?: string;
  readonly request: NodeRequest;
  readonly response: NodeResponse;
}

/** What went out, for the access log. */
export interface RelayOutcome {
  readonly status: number;
  readonly bodyBytes: number;
}

/**
 * Passes one exchange through the tunnel, both bodies as they come. A client that goes away cancels it. Resolves when the
 * answer is out or nobody waits for it; never rejects.
 */
export async function relayExchange(source: HostSource, exchange: RelayedExchange): Promise<RelayOutcome> {
  const { protocol, request, response } = exchange;
  const rawTarget = exchange.rawTarget ?? originForm(request.url ?? "/");
  const gone = new AbortController();
  let isOut = false;
  response.once("close", () => {
    if (!isOut) gone.abort(new InferenceError("CANCELLED", "the client has closed the connection"));
  });
  let answer: ExchangeResponse;
  try {
    answer = await ask(source, { ...exchange, rawTarget }, gone.signal);
  } catch (thrown) {
    answer = standIn(protocol, rawTarget, thrown);
  }
  const bodyBytes = await send(answer, exchange);
  isOut = true;
  return { status: answer.status, bodyBytes };
}

/** Of a target as clients give it to a proxy, `http://host/path`, which servers have to take too. */
function originForm(target: string): string {
  const path = target.replace(/^https?:\/\/[^/?]*/i, "");
  return path.startsWith("/") || path === target ? path : `/${path}`;
}

async function ask(
  source: HostSource,
  { protocol, rawTarget, request }: RelayedExchange & { readonly rawTarget: string },
  signal: AbortSignal,
): Promise<ExchangeResponse> {
  const state = source();
  if (state.kind === "absent") throw new InferenceError("UNAVAILABLE", `Server not ready: ${state.reason}`);
  const chunks = countChunks(request);
  return state.tunnel.exchange({
    protocol,
    method: request.method ?? "GET",
    rawTarget,
    headers: headersOf(request.rawHeaders),
    body: chunks.body,
    ...(request.headers["transfer-encoding"] === undefined ? {} : { chunkCount: chunks.count }),
    trailers: () => headersOf(request.rawTrailers),
    signal,
  });
}

/** Names and values in order, without HTTP/2's own, which begin with a colon. */
function headersOf(raw: readonly string[]): HeaderList {
  const headers: (readonly [string, string])[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const [name, value] = [raw[index] ?? "", raw[index + 1] ?? ""];
    if (!name.startsWith(":")) headers.push([name.toLowerCase(), value]);
  }
  return headers;
}

/** A chunk at least this long may arrive in several pieces, so only shorter pieces are counted: at most what was sent. */
const SHORT_PIECE_BYTES = 1024;

function countChunks(request: NodeRequest): {
  readonly body: AsyncIterable<Uint8Array>;
  readonly count: () => number;
} {
  let count = 0;
  return {
    body: (async function* () {
      // Without an encoding a request gives buffers.
      for await (const piece of request as AsyncIterable<Uint8Array>) {
        if (piece.length < SHORT_PIECE_BYTES) count += 1;
        yield piece;
      }
    })(),
    count: () => count,
  };
}

/** What HTTP/2 forbids, and what belongs to one connection and not to the exchange. */
const HOP_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
]);

/** Resolves with the bytes of the body that were handed over. */
async function send(
  answer: ExchangeResponse,
  { protocol, request, response }: RelayedExchange,
): Promise<number> {
  let bodyBytes = 0;
  if (isGone(response)) {
    await leave(answer.body);
    return bodyBytes;
  }
  for (const [name, values] of grouped(answer.headers)) {
    if (!HOP_HEADERS.has(name)) response.setHeader(name, values);
  }
  response.statusCode = answer.status;
  try {
    for await (const piece of piecesOf(answer.body)) {
      bodyBytes += piece.length;
      // One function for both kinds of response, whose overloads differ.
      if (!(response as ServerResponse).write(piece)) await drained(response);
      if (isGone(response)) return bodyBytes;
    }
    const trailers = (await answer.trailers) ?? [];
    const hasBody = response.headersSent;
    if (hasBody) response.addTrailers(Object.fromEntries(trailers));
    // Trailers follow only a body. Where there is none the head has gRPC's status, which is how its own servers tell errors.
    else if (protocol === "grpc") for (const [name, value] of trailers) response.setHeader(name, value);
    response.end();
    if ("stream" in response && !request.readableEnded) {
      // As gRPC's own servers do where the client has not ended its side: nobody listens any more.
      const end = (): void => {
        response.stream.close(constants.NGHTTP2_NO_ERROR);
      };
      // Node ends a stream before its trailers are out where that is asked for earlier.
      if (hasBody) response.stream.once("wantTrailers", () => setImmediate(end));
      else end();
    }
  } catch {
    // The head is out, so that only a broken connection can tell that this is not all.
    response.destroy();
  }
  return bodyBytes;
}

/** Asked again and again, since it changes meanwhile. */
function isGone(response: NodeResponse): boolean {
  return response.destroyed;
}

function grouped(headers: HeaderList): ReadonlyMap<string, string | string[]> {
  const groups = new Map<string, string | string[]>();
  for (const [name, value] of headers) {
    const known = groups.get(name);
    groups.set(name, known === undefined ? value : [known, value].flat());
  }
  return groups;
}

async function* piecesOf(body: ExchangeResponse["body"]): AsyncGenerator<Uint8Array> {
  if (!(body instanceof Uint8Array)) yield* body;
  else if (body.length > 0) yield body;
}

async function leave(body: ExchangeResponse["body"]): Promise<void> {
  if (!(body instanceof Uint8Array)) await body[Symbol.asyncIterator]().return?.();
}

function drained(response: NodeResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.on("drain", done);
    response.on("close", done);
  });
}
