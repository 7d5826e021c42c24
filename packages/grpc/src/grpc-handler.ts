import { Code, ConnectError } from "@connectrpc/connect";
import { parseContentType } from "@connectrpc/connect/protocol-grpc";
import type { ExchangeResponse, HeaderList, StreamingExchangeHandler } from "@naiad/protocol";
import { headerValue } from "@naiad/protocol";
import { createConnectCall } from "./connect-call.ts";
import { answerDirectly, statusResponse } from "./direct-call.ts";
import { DEFAULT_MAX_MESSAGE_SIZE, type GrpcOptions } from "./grpc-options.ts";
import { createGrpcRoutes } from "./grpc-routes.ts";

/**
 * Triton's gRPC API over the operations, for exchanges: real gRPC where trailers reach the client and parts of the body
 * come as they are sent, gRPC-Web and Connect everywhere. The handler never rejects. A request with its whole body is
 * answered too where the method is a stream: its messages are all there at once.
 */
export function createGrpcHandler(options: GrpcOptions): StreamingExchangeHandler {
  const { maxMessageSize = DEFAULT_MAX_MESSAGE_SIZE, compressedResponses = "none" } = options;
  const byPath = new Map(
    createGrpcRoutes(options).map((route) => [
      route.path,
      { route, answerByConnect: createConnectCall(route, options) },
    ]),
  );

  /** Whether no message of the call is compressed, nor is to be. */
  function isPlain(headers: HeaderList): boolean {
    const encoding = headerValue(headers, "grpc-encoding");
    if (encoding !== undefined && encoding !== "identity") return false;
    return compressedResponses === "none" || headerValue(headers, "grpc-accept-encoding") === undefined;
  }

  return async (request) => {
    const { headers, method } = request;
    const path = pathOf(request.rawTarget);
    const found = byPath.get(path);
    const isProtobuf = parseContentType(headerValue(headers, "content-type") ?? null)?.binary === true;
    if (found === undefined) return isProtobuf ? unknownMethod(path) : emptyResponse(404);
    if (isProtobuf && method === "POST" && isPlain(headers)) {
      return answerDirectly(found.route, request, maxMessageSize);
    }
    try {
      return await found.answerByConnect(request);
    } catch {
      // What went wrong in the method has a status of its own: this was the exchange, and nobody can be told more.
      return emptyResponse(500);
    }
  };
}

function unknownMethod(path: string): ExchangeResponse {
  return statusResponse(new ConnectError(`unknown method ${path}`, Code.Unimplemented));
}

function emptyResponse(status: number): ExchangeResponse {
  return { status, headers: [], body: new Uint8Array(0) };
}

/** The query means nothing here but to Connect's GET, which reads it itself. */
function pathOf(rawTarget: string): string {
  const query = rawTarget.indexOf("?");
  return query === -1 ? rawTarget : rawTarget.slice(0, query);
}
