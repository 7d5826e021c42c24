import { isGrpcTarget } from "@naiad/grpc/target";
import type { Channel } from "@naiad/link";
import type { InferenceError, HeaderList } from "@naiad/protocol";
import { httpStatusOf } from "@naiad/protocol";
import type { GatewayAnswer, GatewayContract } from "../contracts.ts";
import { MARKER_HEADER } from "../marker-header.ts";

/** Statuses that a `Response` with a body throws on. */
const BODILESS: ReadonlySet<number> = new Set([101, 204, 205, 304]);

/** `whileStreaming` is given what is pending as long as a streamed body has not come to its end, read or left. */
export function responseOf(
  { status, headers, body }: GatewayAnswer,
  channel: Channel<GatewayContract>,
  whileStreaming: (streamed: Promise<void>) => void,
): Response {
  const init = { status, headers: headersOf(headers) };
  if (BODILESS.has(status)) return new Response(null, init);
  if (body.kind === "bytes") return new Response(body.bytes, init);
  let onEnd = (): void => undefined;
  whileStreaming(
    new Promise((resolve) => {
      onEnd = resolve;
    }),
  );
  return new Response(bodyStream(channel, body.bodyId, onEnd), init);
}

/**
 * The error in the form in which Triton's frontend gives every error, with Triton's status for its code. Clients of
 * gRPC-Web read the text from a header.
 */
export function errorResponse(error: InferenceError, rawTarget: string): Response {
  const headers = headersOf([["content-type", "application/json"]]);
  const status = httpStatusOf(error.code);
  if (status === 503) headers.set("retry-after", "1");
  if (isGrpcTarget(rawTarget)) headers.set("grpc-message", encodeURIComponent(error.message));
  return new Response(JSON.stringify({ error: error.message }), { status, headers });
}

function headersOf(list: HeaderList): Headers {
  const headers = new Headers();
  for (const [name, value] of list) headers.append(name, value);
  headers.set(...MARKER_HEADER);
  return headers;
}

/**
 * Takes a piece from the host only when the browser asks for one, and ends the request in the host when it wants no more:
 * the page aborted its fetch, cancelled the body or is gone. (Chromium asks ahead of the page's own reading, for at least
 * 30 MB.)
 */
function bodyStream(
  channel: Channel<GatewayContract>,
  bodyId: string,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  const pieces = channel.stream("body", { bodyId })[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const piece = await pieces.next();
          if (piece.done !== true) {
            controller.enqueue(piece.value);
            return;
          }
          controller.close();
        } catch (thrown) {
          controller.error(thrown);
        }
        onEnd();
      },
      async cancel() {
        onEnd();
        await pieces.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
