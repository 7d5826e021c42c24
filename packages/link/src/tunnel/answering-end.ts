import type { ExchangeResponse } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { cancelled } from "../cancelled.ts";
import type { BodyInlet } from "./body-inlet.ts";
import { createBodyInlet } from "./body-inlet.ts";
import type { BodyOutlet } from "./body-outlet.ts";
import { createBodyOutlet } from "./body-outlet.ts";
import type { BodyEnd, Frame, TunnelRequestHead } from "./frame.ts";
import { createFrameWriter } from "./frame-writer.ts";
import type { Defer, TunnelLine } from "./line.ts";
import { listenToFrames } from "./listen-to-frames.ts";

/** A request as it arrives: its body may still be under way. */
export interface ArrivingRequest extends TunnelRequestHead {
  /** For one reader. Throws an InferenceError where the sender gave up. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Resolves when the body is over. Never rejects. */
  readonly ended: Promise<BodyEnd>;
  /** Fires when the asking end has given up or is gone. */
  readonly signal: AbortSignal;
}

/** Where it rejects, the exchange fails at the asking end with that error. */
export type TunnelHandler = (request: ArrivingRequest) => Promise<ExchangeResponse>;

/** The end of a tunnel that answers. */
export interface TunnelAnswerer {
  /** Aborts every exchange. Idempotent. */
  close(reason: InferenceError): void;
  /** Resolves when the tunnel has ended, from whichever end. */
  readonly closed: Promise<InferenceError>;
}

export interface TunnelAnswererOptions {
  readonly line: TunnelLine;
  readonly defer: Defer;
  /** By the word of the request's head. */
  readonly handlers: ReadonlyMap<string, TunnelHandler>;
  readonly peer: string;
}

interface Exchange {
  readonly controller: AbortController;
  readonly outlet: BodyOutlet;
  readonly inlet: BodyInlet;
}

export function createTunnelAnswerer(options: TunnelAnswererOptions): TunnelAnswerer {
  const { line, defer, handlers, peer } = options;
  const write = createFrameWriter(line, defer);
  const exchanges = new Map<number, Exchange>();
  // One for all exchanges: an error costs more than most of what is done for one.
  const answered = new InferenceError("CANCELLED", "the answer has ended");
  let isEnded = false;
  let tellClosed: (reason: InferenceError) => void = () => undefined;
  const closed = new Promise<InferenceError>((resolve) => {
    tellClosed = resolve;
  });

  function open(stream: number, head: TunnelRequestHead): void {
    const outlet = createBodyOutlet((bytes) => {
      write({ kind: "piece", stream, bytes });
    });
    const inlet = createBodyInlet({
      credit: (byteLength) => {
        if (exchanges.has(stream)) write({ kind: "credit", stream, byteLength });
      },
      // A request may be answered without being read.
      leave: () => undefined,
    });
    const exchange: Exchange = { controller: new AbortController(), outlet, inlet };
    exchanges.set(stream, exchange);
    void answer(stream, head, exchange);
  }

  async function answer(stream: number, head: TunnelRequestHead, exchange: Exchange): Promise<void> {
    const { controller, inlet, outlet } = exchange;
    try {
      const handler = handlers.get(head.protocol);
      if (handler === undefined) {
        throw new InferenceError("UNSUPPORTED", `this server does not speak '${head.protocol}'`);
      }
      const response = await handler({
        ...head,
        body: inlet.pieces,
        ended: inlet.ended,
        signal: controller.signal,
      });
      const { body, status, headers } = response;
      // What is whole goes out with its head and its end in one message, each of which wakes the other end.
      const known = body instanceof Uint8Array ? await response.trailers : undefined;
      if (exchanges.has(stream)) write({ kind: "answer", stream, head: { status, headers } });
      if (body instanceof Uint8Array) {
        const rest = outlet.sendNow(body);
        if (rest.length > 0) await outlet.send(rest);
      } else {
        for await (const piece of body) await outlet.send(piece);
      }
      const trailers = known ?? (await response.trailers) ?? [];
      if (exchanges.delete(stream)) write({ kind: "end", stream, end: { trailers } });
    } catch (thrown) {
      const error = InferenceError.from(thrown);
      if (exchanges.delete(stream)) write({ kind: "cancel", stream, error: error.toWire() });
    }
    // Whoever still reads the request waits for nothing.
    inlet.fail(answered);
  }

  function abort(stream: number, reason: InferenceError): void {
    const exchange = exchanges.get(stream);
    if (exchange === undefined) return;
    exchanges.delete(stream);
    exchange.controller.abort(reason);
    exchange.inlet.fail(reason);
    exchange.outlet.stop(reason);
  }

  function close(reason: InferenceError): void {
    if (isEnded) return;
    isEnded = true;
    for (const stream of [...exchanges.keys()]) abort(stream, reason);
    line.close();
    tellClosed(reason);
  }

  function accept(frame: Frame): void {
    switch (frame.kind) {
      case "open":
        open(frame.stream, frame.head);
        return;
      case "piece":
        exchanges.get(frame.stream)?.inlet.piece(frame.bytes);
        return;
      case "end":
        exchanges.get(frame.stream)?.inlet.end(frame.end);
        return;
      case "cancel":
        abort(frame.stream, cancelled(frame.error));
        return;
      case "credit":
        exchanges.get(frame.stream)?.outlet.grant(frame.byteLength);
        return;
      case "ping":
        write({ kind: "pong" });
        return;
      case "answer":
      case "pong":
        throw new InferenceError("INTERNAL", `${peer} sent a frame that only answers`);
    }
  }

  listenToFrames(line, { peer, lossCode: "CANCELLED", accept, close });

  return { close, closed };
}
