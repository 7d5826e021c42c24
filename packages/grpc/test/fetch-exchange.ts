import type { ExchangeResponse, StreamingExchangeHandler } from "@naiad/protocol";

/** A `fetch` as pages have it, answered by a handler: whole requests, responses in pieces, no trailers. */
export function fetchFrom(handler: StreamingExchangeHandler): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const { pathname, search } = new URL(request.url);
    const { status, headers, body } = await handler({
      method: request.method,
      rawTarget: pathname + search,
      headers: [...request.headers],
      body: new Uint8Array(await request.arrayBuffer()),
      signal: request.signal,
    });
    return new Response(streamOf(body), {
      status,
      headers: headers.map(([name, value]): [string, string] => [name, value]),
    });
  };
}

function streamOf(body: ExchangeResponse["body"]): ReadableStream<Uint8Array> {
  const pieces = body instanceof Uint8Array ? onePiece(body) : body[Symbol.asyncIterator]();
  return new ReadableStream({
    pull: async (controller) => {
      const next = await pieces.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    cancel: async () => {
      await pieces.return?.();
    },
  });
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  await Promise.resolve();
  yield bytes;
}
