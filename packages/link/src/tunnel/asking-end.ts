import type { ExchangeResponse, HeaderList } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { cancelled } from "../cancelled.ts";
import type { BodyInlet } from "./body-inlet.ts";
import { createBodyInlet } from "./body-inlet.ts";
import type { BodyOutlet } from "./body-outlet.ts";
import { createBodyOutlet } from "./body-outlet.ts";
import type { Frame, TunnelAnswerHead, TunnelRequestHead } from "./frame.ts";
import { createFrameWriter } from "./frame-writer.ts";
import type { Defer, TunnelLine } from "./line.ts";
import { listenToFrames } from "./listen-to-frames.ts";

export interface TunnelRequest extends TunnelRequestHead {
  /** Where it throws, the exchange is cancelled and fails with that. The tunnel owns the pieces. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Asked when the body is over. */
  readonly chunkCount?: () => number;
  readonly trailers?: () => HeaderList;
  /** Abort cancels the exchange at the other end too, and fails it here with CANCELLED. */
  readonly signal: AbortSignal;
}

/** The end of a tunnel that has requests. */
export interface TunnelAsker {
  /**
   * Resolves with the head of the answer; its body must be read to the end, left early, or given up by the request's signal.
   * Rejects, and the body throws, with an InferenceError: the other end's, CANCELLED, or the reason why the tunnel is gone.
   */
  exchange(request: TunnelRequest): Promise<ExchangeResponse>;
  /** Resolves when the other end's thread has got round to answering; rejects when the tunnel is gone. */
  ping(): Promise<void>;
  /** Ends every exchange with `reason`. Idempotent. */
  close(reason: InferenceError): void;
  /** Resolves when the tunnel has ended, from whichever end. */
  readonly closed: Promise<InferenceError>;
}

export interface TunnelAskerOptions {
  readonly line: TunnelLine;
  readonly defer: Defer;
  /** For texts, for example `the browser`. */
  readonly peer: string;
}

interface Exchange {
  readonly outlet: BodyOutlet;
  readonly inlet: BodyInlet;
  readonly answered: (head: TunnelAnswerHead) => void;
  readonly fail: (error: InferenceError) => void;
  readonly unwatch: () => void;
}

export function createTunnelAsker({ line, defer, peer }: TunnelAskerOptions): TunnelAsker {
  const write = createFrameWriter(line, defer);
  const exchanges = new Map<number, Exchange>();
  // One for all exchanges: an error costs more than most of what is done for one.
  const answered = new InferenceError("CANCELLED", "the answer has ended");
  const pings: { readonly resolve: () => void; readonly reject: (error: InferenceError) => void }[] = [];
  let lastStream = 0;
  let ended: InferenceError | undefined;
  let tellClosed: (reason: InferenceError) => void = () => undefined;
  const closed = new Promise<InferenceError>((resolve) => {
    tellClosed = resolve;
  });

  function finish(stream: number): Exchange | undefined {
    const exchange = exchanges.get(stream);
    exchanges.delete(stream);
    exchange?.unwatch();
    return exchange;
  }

  function fail(stream: number, error: InferenceError): void {
    const exchange = finish(stream);
    exchange?.outlet.stop(error);
    exchange?.inlet.fail(error);
    exchange?.fail(error);
  }

  /** Gives an exchange up, and says so to the other end. */
  function cancel(stream: number, error: InferenceError): void {
    if (exchanges.has(stream)) write({ kind: "cancel", stream, error: error.toWire() });
    fail(stream, error);
  }

  function close(reason: InferenceError): void {
    if (ended !== undefined) return;
    ended = reason;
    for (const stream of [...exchanges.keys()]) fail(stream, reason);
    for (const { reject } of pings.splice(0)) reject(reason);
    line.close();
    tellClosed(reason);
  }

  function accept(frame: Frame): void {
    switch (frame.kind) {
      case "answer":
        exchanges.get(frame.stream)?.answered(frame.head);
        return;
      case "piece":
        exchanges.get(frame.stream)?.inlet.piece(frame.bytes);
        return;
      case "end": {
        const exchange = finish(frame.stream);
        exchange?.outlet.stop(answered);
        exchange?.inlet.end(frame.end);
        return;
      }
      case "cancel":
        fail(frame.stream, InferenceError.from(frame.error));
        return;
      case "credit":
        exchanges.get(frame.stream)?.outlet.grant(frame.byteLength);
        return;
      case "pong":
        pings.shift()?.resolve();
        return;
      case "open":
      case "ping":
        throw new InferenceError("INTERNAL", `${peer} sent a frame that only asks`);
    }
  }

  async function sendBody(stream: number, request: TunnelRequest, outlet: BodyOutlet): Promise<void> {
    try {
      for await (const piece of request.body) await outlet.send(piece);
    } catch (thrown) {
      // Where the answer has ended, or the exchange has failed, there is nothing left to cancel.
      cancel(stream, InferenceError.from(thrown));
      return;
    }
    if (!exchanges.has(stream)) return;
    const chunkCount = request.chunkCount?.();
    const trailers = request.trailers?.() ?? [];
    write({ kind: "end", stream, end: { trailers, ...(chunkCount !== undefined && { chunkCount }) } });
  }

  listenToFrames(line, { peer, lossCode: "UNAVAILABLE", accept, close });

  return {
    async exchange(request) {
      const { protocol, method, rawTarget, headers, signal } = request;
      if (ended !== undefined) throw ended;
      if (signal.aborted) throw cancelled(signal.reason);
      lastStream += 1;
      const stream = lastStream;
      const onAbort = (): void => {
        cancel(stream, cancelled(signal.reason));
      };
      const outlet = createBodyOutlet((bytes) => {
        write({ kind: "piece", stream, bytes });
      });
      const inlet = createBodyInlet({
        credit: (byteLength) => {
          if (exchanges.has(stream)) write({ kind: "credit", stream, byteLength });
        },
        leave: () => {
          cancel(stream, cancelled());
        },
      });
      const answer = new Promise<TunnelAnswerHead>((resolve, reject) => {
        signal.addEventListener("abort", onAbort, { once: true });
        exchanges.set(stream, {
          outlet,
          inlet,
          answered: resolve,
          fail: reject,
          unwatch: () => {
            signal.removeEventListener("abort", onAbort);
          },
        });
      });
      write({ kind: "open", stream, head: { protocol, method, rawTarget, headers } });
      void sendBody(stream, request, outlet);
      const { status, headers: answerHeaders } = await answer;
      const trailers = inlet.ended.then((end) => end.trailers);
      return { status, headers: answerHeaders, body: inlet.pieces, trailers };
    },
    ping() {
      if (ended !== undefined) return Promise.reject(ended);
      write({ kind: "ping" });
      return new Promise((resolve, reject) => {
        pings.push({ resolve, reject });
      });
    },
    close,
    closed,
  };
}
