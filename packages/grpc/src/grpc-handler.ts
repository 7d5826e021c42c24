import { createConnectRouter } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest } from "@connectrpc/connect/protocol";
import type {
  ExchangeResponse,
  HeaderList,
  StreamingExchangeHandler,
  StreamingExchangeRequest,
} from "@naiad/protocol";
import { compressionsOf } from "./content-compression.ts";
import { DEFAULT_MAX_MESSAGE_SIZE, type GrpcOptions } from "./grpc-options.ts";
import { createGrpcRoutes } from "./grpc-routes.ts";

/** Bytes that no message has. */
const NEVER = Number.MAX_SAFE_INTEGER;

/**
 * Triton's gRPC API over the operations, for exchanges: real gRPC where trailers reach the client and parts of the body
 * come as they are sent, gRPC-Web and Connect everywhere. The handler never rejects. A request with its whole body is
 * answered too where the method is a stream: its messages are all there at once.
 */
export function createGrpcHandler(options: GrpcOptions): StreamingExchangeHandler {
  const { maxMessageSize = DEFAULT_MAX_MESSAGE_SIZE, compression, compressedResponses = "none" } = options;
  const router = createConnectRouter({
    readMaxBytes: maxMessageSize,
    writeMaxBytes: maxMessageSize,
    ...(compressedResponses === "none" && { compressMinBytes: NEVER }),
    ...(compression !== undefined && { acceptCompression: compressionsOf(compression) }),
  });
  createGrpcRoutes(options)(router);
  const byPath = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));

  return async (request) => {
    const handler = byPath.get(pathOf(request.rawTarget));
    // gRPC's libraries take this for UNIMPLEMENTED.
    if (handler === undefined) return emptyResponse(404);
    try {
      return await answer(request, handler);
    } catch {
      // What went wrong in the method has a status of its own: this was the exchange, and nobody can be told more.
      return emptyResponse(500);
    }
  };
}

async function answer(
  request: StreamingExchangeRequest,
  handler: UniversalHandler,
): Promise<ExchangeResponse> {
  const { status, header, body, trailer } = await handler(universalRequest(request));
  const pieces = piecesOf(body ?? [], () => [...(trailer ?? [])]);
  const headers: HeaderList = [...(header ?? [])];
  if (handler.method.methodKind !== "unary") {
    return { status, headers, body: pieces.body, trailers: pieces.trailers };
  }
  const whole: Uint8Array[] = [];
  for await (const piece of pieces.body) whole.push(piece);
  return { status, headers, body: joined(whole), trailers: pieces.trailers };
}

function universalRequest(request: StreamingExchangeRequest): UniversalServerRequest {
  const { method, rawTarget, headers, body, signal } = request;
  const header = new Headers();
  for (const [name, value] of headers) if (!name.startsWith(":")) header.append(name, value);
  return {
    // A version with streams both ways; what carries the exchange decides what it can.
    httpVersion: "2.0",
    method,
    // Only the path and the query of it are ever read.
    url: `http://localhost${rawTarget}`,
    header,
    body: body instanceof Uint8Array ? onePiece(body) : body,
    signal,
  };
}

interface Pieces {
  readonly body: AsyncIterable<Uint8Array>;
  readonly trailers: Promise<HeaderList>;
}

/** The trailers are known when the body has ended; where it is left before, there are those of that moment. */
function piecesOf(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  readTrailers: () => HeaderList,
): Pieces {
  let onEnd: (trailers: HeaderList) => void = () => undefined;
  const trailers = new Promise<HeaderList>((resolve) => {
    onEnd = resolve;
  });
  const body = (async function* () {
    try {
      yield* source;
    } finally {
      onEnd(readTrailers());
    }
  })();
  return { body, trailers };
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  await Promise.resolve();
  if (bytes.length > 0) yield bytes;
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [first, ...more] = pieces;
  if (first !== undefined && more.length === 0) return first;
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const piece of pieces) {
    whole.set(piece, offset);
    offset += piece.length;
  }
  return whole;
}

function emptyResponse(status: number): ExchangeResponse {
  return { status, headers: [], body: new Uint8Array(0) };
}

/** The query means nothing here but to Connect's GET, which reads it itself. */
function pathOf(rawTarget: string): string {
  const query = rawTarget.indexOf("?");
  return query === -1 ? rawTarget : rawTarget.slice(0, query);
}
