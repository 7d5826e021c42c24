import type { Channel } from "@naiad/link";
import type { InferenceError, HeaderList } from "@naiad/protocol";
import { httpStatusOf } from "@naiad/protocol";
import type { GatewayAnswer, GatewayContract } from "../contracts.ts";

/**
 * Stands on every answer of a gateway: by it a page tells the server from the network, which may answer the first fetches
 * after a service worker took control (WebKit does), with an HTML page and status 200 on many static hosts.
 */
export const MARKER_HEADER: readonly [name: string, value: string] = ["x-naiad", "1"];

/** Statuses that a `Response` with a body throws on. */
const BODILESS: ReadonlySet<number> = new Set([101, 204, 205, 304]);

export function responseOf(
  { status, headers, body }: GatewayAnswer,
  channel: Channel<GatewayContract>,
): Response {
  const init = { status, headers: headersOf(headers) };
  if (BODILESS.has(status)) return new Response(null, init);
  return new Response(body.kind === "bytes" ? body.bytes : bodyStream(channel, body.bodyId), init);
}

/** The error in the form in which Triton's frontend gives every error, with Triton's status for its code. */
export function errorResponse(error: InferenceError): Response {
  const headers = headersOf([["content-type", "application/json"]]);
  const status = httpStatusOf(error.code);
  if (status === 503) headers.set("retry-after", "1");
  return new Response(JSON.stringify({ error: error.message }), { status, headers });
}

function headersOf(list: HeaderList): Headers {
  const headers = new Headers();
  for (const [name, value] of list) headers.append(name, value);
  headers.set(...MARKER_HEADER);
  return headers;
}

/** Takes a piece from the host only when the page reads one; a page that stops reading ends the request in the host. */
function bodyStream(channel: Channel<GatewayContract>, bodyId: string): ReadableStream<Uint8Array> {
  const pieces = channel.stream("body", { bodyId })[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = await pieces.next();
        if (piece.done === true) controller.close();
        else controller.enqueue(piece.value);
      },
      async cancel() {
        await pieces.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
