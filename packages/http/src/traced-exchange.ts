import type { EdgeTrace, ExchangeResponse, OperationContext } from "@naiad/protocol";
import { contextOf } from "./responses.ts";
import type { RouteCall } from "./route.ts";

/** What a route that infers works with. */
export interface TracedContext extends OperationContext {
  /** The response is there, and is going to be sent. */
  readonly onResponse: () => void;
}

/**
 * Runs a route that infers, traced where the server says so: with the times between which the request came and the
 * response left here. A body in pieces has left when the last of them was taken.
 */
export async function tracedExchange(
  call: RouteCall,
  run: (context: TracedContext) => Promise<ExchangeResponse>,
): Promise<ExchangeResponse> {
  const { options, reference, request } = call;
  const { tracing } = options;
  const context = { ...contextOf(call), onResponse: () => undefined };
  const receivedNs = tracing?.nowNs();
  if (tracing === undefined || receivedNs === undefined) return run(context);
  const { modelName } = reference;
  const trace = tracing.begin({ modelName, headers: request.headers });
  if (trace === undefined) return run({ ...context, trace: { kind: "edge", trace } });
  trace.mark("HTTP_RECV_START", request.receivedNs ?? receivedNs);
  trace.mark("HTTP_RECV_END", receivedNs);
  const sending = createSending(trace);
  try {
    const response = await run({
      ...context,
      trace: { kind: "edge", trace },
      onResponse: () => {
        sending.begin();
      },
    });
    sending.begin();
    if (!(response.body instanceof Uint8Array)) {
      return { ...response, body: sending.untilSent(response.body) };
    }
    sending.end();
    return response;
  } catch (thrown) {
    // An error is a response too, which is written where it is caught.
    sending.begin();
    sending.end();
    throw thrown;
  }
}

interface Sending {
  /** The first time counts. */
  begin(): void;
  end(): void;
  /** Ends it after the last piece, or when the reader leaves. */
  untilSent(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

function createSending(trace: EdgeTrace): Sending {
  let hasBegun = false;
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    trace.mark("HTTP_SEND_END");
    trace.end();
  };
  return {
    begin: () => {
      if (!hasBegun) trace.mark("HTTP_SEND_START");
      hasBegun = true;
    },
    end,
    // Not a generator, which does nothing when its reader leaves before the first piece.
    untilSent: (body) => ({
      [Symbol.asyncIterator]() {
        const pieces = body[Symbol.asyncIterator]();
        return {
          next: async () => {
            const piece = await pieces.next().catch((thrown: unknown) => {
              end();
              throw thrown;
            });
            if (piece.done === true) end();
            return piece;
          },
          return: async () => {
            end();
            await pieces.return?.();
            return { done: true, value: undefined };
          },
        };
      },
    }),
  };
}
