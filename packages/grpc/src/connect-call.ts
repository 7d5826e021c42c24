import { createConnectRouter } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest } from "@connectrpc/connect/protocol";
import type {
  ExchangeResponse,
  HeaderList,
  StreamingExchangeHandler,
  StreamingExchangeRequest,
} from "@naiad/protocol";
import { invariant } from "@naiad/protocol";
import { compressionsOf } from "./content-compression.ts";
import { DEFAULT_MAX_MESSAGE_SIZE, type GrpcOptions } from "./grpc-options.ts";
import type { GrpcRoute } from "./grpc-route.ts";

/** Bytes that no message has. */
const NEVER = Number.MAX_SAFE_INTEGER;

/**
 * Answers calls of one method by `@connectrpc/connect`, which knows every protocol and compression. The handler rejects where
 * the exchange fails and not the method.
 */
export function createConnectCall(route: GrpcRoute, options: GrpcOptions): StreamingExchangeHandler {
  const { maxMessageSize = DEFAULT_MAX_MESSAGE_SIZE, compression, compressedResponses = "none" } = options;
  const router = createConnectRouter({
    readMaxBytes: maxMessageSize,
    writeMaxBytes: maxMessageSize,
    ...(compressedResponses === "none" && { compressMinBytes: NEVER }),
    ...(compression !== undefined && { acceptCompression: compressionsOf(compression) }),
  });
  if (route.kind === "unary") router.rpc(route.method, route.answer);
  else router.rpc(route.method, route.answer);
  const [handler] = router.handlers;
  invariant(handler !== undefined, "a router has a handler for its method");
  return (request) => answer(request, handler);
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
