import type { TunnelLine } from "@naiad/link/tunnel";

export interface PairedLine extends TunnelLine {
  /** Both ends learn that the connection is lost. */
  break(reason: string): void;
  onSend(listener: () => void): void;
}

export interface PairedLinesOptions {
  /** Turns of the event loop that a message takes. Default 0: the next microtask. */
  readonly lag?: number;
}

/** The two ends of a connection in memory, in place of a WebSocket. */
export function pairedLines({ lag = 0 }: PairedLinesOptions = {}): {
  readonly left: PairedLine;
  readonly right: PairedLine;
} {
  const left = new MemoryLine(lag);
  const right = new MemoryLine(lag);
  left.peer = right;
  right.peer = left;
  return { left, right };
}

class MemoryLine implements PairedLine {
  peer: MemoryLine | undefined;
  readonly #lag: number;
  isOpen = true;
  #message: (bytes: Uint8Array) => void = () => undefined;
  #closed: (reason: string) => void = () => undefined;
  #sent: () => void = () => undefined;

  constructor(lag: number) {
    this.#lag = lag;
  }

  send(message: Uint8Array<ArrayBuffer>): void {
    if (!this.isOpen) return;
    this.#sent();
    const { peer } = this;
    const copy = message.slice();
    later(this.#lag, () => {
      peer?.accept(copy);
    });
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.peer?.end("closed by the other end");
  }

  break(reason: string): void {
    const open = [this, this.peer].flatMap((line) => (line?.isOpen === true ? [line] : []));
    // Both at once: what one does about it must not look to the other like an orderly end.
    for (const line of open) line.isOpen = false;
    for (const line of open) line.hearEnd(reason);
  }

  hearEnd(reason: string): void {
    this.#closed(reason);
  }

  accept(message: Uint8Array): void {
    if (this.isOpen) this.#message(message);
  }

  listen(message: (bytes: Uint8Array) => void, closed: (reason: string) => void): void {
    this.#message = message;
    this.#closed = closed;
  }

  onSend(listener: () => void): void {
    this.#sent = listener;
  }

  end(reason: string): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#closed(reason);
  }
}

function later(turns: number, run: () => void): void {
  if (turns === 0) queueMicrotask(run);
  else
    setTimeout(() => {
      later(turns - 1, run);
    }, 0);
}
