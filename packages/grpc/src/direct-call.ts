import { fromBinary, type Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { contentTypeProto, grpcStatusOk, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import type { ExchangeResponse, HeaderList, StreamingExchangeRequest } from "@naiad/protocol";
import { callHeaders } from "./call-context.ts";
import { type CallSignal, createCallSignal, readTimeoutMs, untilAborted } from "./call-signal.ts";
import { byteLengthOf, type EncodedMessage } from "./encode-message.ts";
import type { GrpcRoute, StreamRoute, UnaryRoute } from "./grpc-route.ts";
import { toConnectError } from "./grpc-status.ts";
import { createFrameReader, frameOf } from "./message-frames.ts";

/**
 * Answers a call of gRPC itself whose messages are not compressed. `@connectrpc/connect` could too, but the iterators that it
 * chains cost ten times what the rest of a small call does. Never rejects.
 */
export function answerDirectly(
  route: GrpcRoute,
  request: StreamingExchangeRequest,
  maxMessageSize: number,
): Promise<ExchangeResponse> {
  return route.kind === "unary"
    ? answerOne(route, request, maxMessageSize)
    : answerStream(route, request, maxMessageSize);
}

async function answerOne(
  route: UnaryRoute,
  request: StreamingExchangeRequest,
  maxMessageSize: number,
): Promise<ExchangeResponse> {
  const requestHeader = callHeaders(request.headers);
  let { signal } = request;
  let call: CallSignal | undefined;
  try {
    const timeoutMs = readTimeoutMs(requestHeader);
    if (timeoutMs !== undefined) {
      call = createCallSignal(signal, timeoutMs);
      ({ signal } = call);
      signal.throwIfAborted();
    }
    const body = call === undefined ? request.body : untilAborted(request.body, signal);
    const message = await onlyMessage(messagesIn(body, route, maxMessageSize));
    const frame = encode(await route.answer(message, { requestHeader, signal }), route, maxMessageSize);
    return { status: 200, headers: HEADERS, body: frame, trailers: Promise.resolve(OK) };
  } catch (thrown) {
    return statusResponse(toConnectError(thrown, signal));
  } finally {
    call?.end();
  }
}

async function answerStream(
  route: StreamRoute,
  request: StreamingExchangeRequest,
  maxMessageSize: number,
): Promise<ExchangeResponse> {
  const requestHeader = callHeaders(request.headers);
  let tellTrailers: (trailers: HeaderList) => void = () => undefined;
  const trailers = new Promise<HeaderList>((resolve) => {
    tellTrailers = resolve;
  });

  const frames = (async function* (): AsyncGenerator<Uint8Array, undefined> {
    let call: CallSignal | undefined;
    let status: ConnectError | "ok" = new ConnectError("request was cancelled", Code.Canceled);
    try {
      call = createCallSignal(request.signal, readTimeoutMs(requestHeader));
      const { signal } = call;
      const requests = messagesIn(untilAborted(request.body, signal), route, maxMessageSize);
      for await (const response of route.answer(requests, { requestHeader, signal })) {
        yield encode(response, route, maxMessageSize);
      }
      status = "ok";
    } catch (thrown) {
      status = toConnectError(thrown, call?.signal ?? request.signal);
    } finally {
      call?.end();
      // What is still open of a call that has ended before its time, also because the reader has left, is given up.
      if (status !== "ok") call?.fire(status);
      tellTrailers(status === "ok" ? OK : statusTrailers(status));
    }
    return undefined;
  })();

  // The head leaves with the first message: there may be none, and then all there is to tell is a status.
  let first: IteratorResult<Uint8Array, undefined> | undefined = await frames.next();
  const body: AsyncIterableIterator<Uint8Array> = {
    next: () => {
      if (first === undefined) return frames.next();
      const next = first;
      first = undefined;
      return Promise.resolve(next);
    },
    return: () => frames.return(undefined),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
  return { status: 200, headers: HEADERS, body, trailers };
}

const HEADERS: HeaderList = [["content-type", contentTypeProto]];
const OK: HeaderList = [["grpc-status", grpcStatusOk]];

/** The answer that is nothing but a status. */
export function statusResponse(error: ConnectError): ExchangeResponse {
  const trailers = Promise.resolve(statusTrailers(error));
  return { status: 200, headers: HEADERS, body: new Uint8Array(0), trailers };
}

function statusTrailers(error: ConnectError): HeaderList {
  return [...setTrailerStatus(new Headers(), error)];
}

async function* messagesIn(
  body: StreamingExchangeRequest["body"],
  { method }: GrpcRoute,
  maxMessageSize: number,
): AsyncGenerator<Message> {
  const frames = createFrameReader(maxMessageSize);
  const parse = (bytes: Uint8Array): Message => {
    try {
      return fromBinary(method.input, bytes);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new ConnectError(`parse binary: ${reason}`, Code.Internal);
    }
  };
  for await (const piece of body instanceof Uint8Array ? [body] : body) {
    for (const bytes of frames.push(piece)) yield parse(bytes);
  }
  frames.end();
}

async function onlyMessage(messages: AsyncIterable<Message>): Promise<Message> {
  let only: Message | undefined;
  for await (const message of messages) {
    if (only !== undefined) {
      throw new ConnectError(
        "protocol error: received extra input message for unary method",
        Code.Unimplemented,
      );
    }
    only = message;
  }
  if (only !== undefined) return only;
  throw new ConnectError("protocol error: missing input message for unary method", Code.Unimplemented);
}

function encode(
  response: Record<string, unknown>,
  route: GrpcRoute,
  maxMessageSize: number,
): Uint8Array<ArrayBuffer> {
  const parts: EncodedMessage = route.encode(response);
  const byteLength = byteLengthOf(parts);
  if (byteLength <= maxMessageSize) return frameOf(parts);
  throw new ConnectError(
    `Sent message larger than max (${byteLength} vs. ${maxMessageSize})`,
    Code.ResourceExhausted,
  );
}
