/** The part of a WebSocket that a tunnel needs: whole binary messages, in order. */
export interface TunnelLine {
  /** Without effect once the line is closed. */
  send(message: Uint8Array<ArrayBuffer>): void;
  close(): void;
  /** Called once, before the first message arrives. `closed` is told the reason, whichever end closed. */
  listen(message: (bytes: Uint8Array) => void, closed: (reason: string) => void): void;
}

/** Runs a function soon, after what runs now. */
export type Defer = (run: () => void) => void;
