import { createServer, type Http2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
import type { ExchangeResponse, StreamingExchangeHandler } from "@naiad/protocol";

export interface ExchangeServer {
  readonly baseUrl: string;
  readonly close: () => Promise<void>;
}

/** Real HTTP/2 without TLS in front of a handler for exchanges: parts of bodies both ways, trailers, cancellation. */
export async function serveExchange(handler: StreamingExchangeHandler): Promise<ExchangeServer> {
  const sessions = new Set<Http2Session>();
  const server = createServer((request, response) => {
    const universal = universalRequestFromNodeRequest(request, response, undefined, undefined);
    const { method, header, body, signal } = universal;
    if (body === null || typeof body !== "object" || !(Symbol.asyncIterator in body)) {
      throw new Error("a body is bytes here");
    }
    void handler({ method, rawTarget: request.url, headers: [...header], body, signal })
      .then((answer) => universalResponseToNodeResponse(universalResponse(answer), response))
      // The client has gone, as some tests want it.
      .catch(() => undefined);
  });
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A server that listens on a port has one.
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${String(port)}`,
    close: async () => {
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function universalResponse({ status, headers, body, trailers }: ExchangeResponse): {
  status: number;
  header: Headers;
  body: AsyncIterable<Uint8Array>;
  trailer: Headers;
} {
  const trailer = new Headers();
  const pieces = async function* (): AsyncGenerator<Uint8Array> {
    if (body instanceof Uint8Array) yield body;
    else yield* body;
    for (const [name, value] of (await trailers) ?? []) trailer.append(name, value);
  };
  return {
    status,
    header: new Headers(headers.map(([name, value]) => [name, value])),
    body: pieces(),
    trailer,
  };
}
