import { InferenceError } from "@naiad/protocol";
import type { BodyEnd } from "./frame.ts";
import { TUNNEL_WINDOW_BYTES } from "./frame.ts";

/** The receiving half of a body. */
export interface BodyInlet {
  /** For one reader. Pieces that came before a failure are given out before it. */
  readonly pieces: AsyncIterable<Uint8Array>;
  /** What stood at the end of the body; what there was no time for where it failed is empty. Never rejects. */
  readonly ended: Promise<BodyEnd>;
  /** Throws INTERNAL where the sender goes beyond its credit. */
  piece(bytes: Uint8Array): void;
  end(end: BodyEnd): void;
  /** Idempotent, and without effect after the end. */
  fail(error: InferenceError): void;
}

export interface BodyInletPort {
  /** The reader has taken so many bytes. */
  credit(byteLength: number): void;
  /** The reader wants no more of it. */
  leave(): void;
}

export function createBodyInlet(port: BodyInletPort): BodyInlet {
  const waiting: Uint8Array[] = [];
  let allowed = TUNNEL_WINDOW_BYTES;
  let taken = 0;
  let over: { readonly error?: InferenceError } | undefined;
  let wake = (): void => undefined;
  let tellEnd: (end: BodyEnd) => void = () => undefined;
  const ended = new Promise<BodyEnd>((resolve) => {
    tellEnd = resolve;
  });

  /** Credit goes back in halves of the window: a frame for each piece would double the traffic. */
  function take(piece: Uint8Array): void {
    taken += piece.length;
    if (taken < TUNNEL_WINDOW_BYTES / 2) return;
    allowed += taken;
    port.credit(taken);
    taken = 0;
  }

  async function* read(): AsyncGenerator<Uint8Array, void, undefined> {
    let isWhole = false;
    try {
      for (;;) {
        const piece = waiting.shift();
        if (piece !== undefined) {
          take(piece);
          yield piece;
        } else if (over === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        } else {
          isWhole = true;
          if (over.error !== undefined) throw over.error;
          return;
        }
      }
    } finally {
      if (!isWhole) port.leave();
    }
  }

  return {
    pieces: read(),
    ended,
    piece(bytes) {
      if (over !== undefined || bytes.length === 0) return;
      allowed -= bytes.length;
      if (allowed < 0) {
        throw new InferenceError("INTERNAL", "the other end of the tunnel sent more than it had credit for");
      }
      waiting.push(bytes);
      wake();
    },
    end(end) {
      over ??= {};
      tellEnd(end);
      wake();
    },
    fail(error) {
      over ??= { error };
      tellEnd({ trailers: [] });
      wake();
    },
  };
}
