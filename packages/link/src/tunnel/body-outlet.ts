import type { InferenceError } from "@naiad/protocol";
import { PIECE_BYTES, TUNNEL_WINDOW_BYTES } from "./frame.ts";

/** The sending half of a body: as much at a time as the receiver gave credit for. One sender. */
export interface BodyOutlet {
  /** Writes what there is credit for, and gives back the rest. Throws the reason once the outlet is stopped. */
  sendNow(bytes: Uint8Array): Uint8Array;
  /** Resolves when all of it has been written; rejects with the reason once the outlet is stopped. */
  send(bytes: Uint8Array): Promise<void>;
  grant(byteLength: number): void;
  /** Idempotent; the first reason counts. */
  stop(reason: InferenceError): void;
}

export function createBodyOutlet(write: (piece: Uint8Array) => void): BodyOutlet {
  let credit = TUNNEL_WINDOW_BYTES;
  let stopped: InferenceError | undefined;
  let wake = (): void => undefined;

  function sendNow(bytes: Uint8Array): Uint8Array {
    if (stopped !== undefined) throw stopped;
    let offset = 0;
    while (offset < bytes.length && credit > 0) {
      const end = Math.min(bytes.length, offset + Math.min(credit, PIECE_BYTES));
      write(bytes.subarray(offset, end));
      credit -= end - offset;
      offset = end;
    }
    return bytes.subarray(offset);
  }

  return {
    sendNow,
    async send(bytes) {
      let rest = sendNow(bytes);
      while (rest.length > 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        rest = sendNow(rest);
      }
    },
    grant(byteLength) {
      credit += byteLength;
      wake();
    },
    stop(reason) {
      stopped ??= reason;
      wake();
    },
  };
}
