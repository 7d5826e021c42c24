import type { Endpoint } from "@naiad/link";

/** One end of a pair: an endpoint in this context, with what tests want to do to it. */
export interface PairedEndpoint extends Endpoint {
  /** As `terminate()`: what was posted by it is still delivered, it itself hears and says nothing more, and nobody is told. */
  kill(): void;
  /** The next message that arrives here is a `messageerror` event. */
  garbleNext(): void;
  /** Listeners that are on now. */
  readonly listenerCount: number;
  /** Messages on their way to this end. */
  readonly incomingCount: number;
}

export interface EndpointPair {
  readonly left: PairedEndpoint;
  readonly right: PairedEndpoint;
  /** Delivers the oldest message that is under way in either direction; `false` when there is none. */
  step(): boolean;
}

export interface PairOptions {
  /** `microtask` (default): each message is delivered by itself, in order. `manual`: only `step` delivers. */
  readonly delivery?: "microtask" | "manual";
}

/**
 * Two endpoints joined in memory. Messages are cloned as by `postMessage`: transferred buffers are detached, everything
 * else is copied, and what cannot be cloned throws at the sender. Nothing is delivered before `start`.
 */
export function pairedEndpoints({ delivery = "microtask" }: PairOptions = {}): EndpointPair {
  const underWay: (() => void)[] = [];

  function step(): boolean {
    const deliver = underWay.shift();
    deliver?.();
    return deliver !== undefined;
  }

  function schedule(deliver: () => void): void {
    underWay.push(deliver);
    if (delivery === "microtask") queueMicrotask(step);
  }

  const left = new MemoryEndpoint(schedule);
  const right = new MemoryEndpoint(schedule);
  left.peer = right;
  right.peer = left;
  return { left, right, step };
}

type Listener = (event: MessageEvent) => void;

class MemoryEndpoint implements PairedEndpoint {
  peer: MemoryEndpoint | undefined;
  readonly #schedule: (deliver: () => void) => void;
  readonly #listeners = new Map<"message" | "messageerror", Set<Listener>>();
  /** What arrived before `start`. */
  readonly #held: unknown[] = [];
  #incoming = 0;
  #isStarted = false;
  #isOpen = true;
  #isNextGarbled = false;

  constructor(schedule: (deliver: () => void) => void) {
    this.#schedule = schedule;
  }

  get listenerCount(): number {
    return this.#listenersOf("message").size + this.#listenersOf("messageerror").size;
  }

  get incomingCount(): number {
    return this.#incoming;
  }

  postMessage(message: unknown, transfer: Transferable[]): void {
    const clone: unknown = structuredClone(message, { transfer });
    if (this.#isOpen && this.peer !== undefined) this.peer.#accept(clone);
  }

  addEventListener(type: "message" | "messageerror", listener: Listener): void {
    this.#listenersOf(type).add(listener);
  }

  removeEventListener(type: "message" | "messageerror", listener: Listener): void {
    this.#listenersOf(type).delete(listener);
  }

  start(): void {
    this.#isStarted = true;
    for (const message of this.#held.splice(0)) this.#deliver(message);
  }

  close(): void {
    this.#isOpen = false;
  }

  kill(): void {
    this.close();
  }

  garbleNext(): void {
    this.#isNextGarbled = true;
  }

  #accept(message: unknown): void {
    this.#incoming += 1;
    this.#schedule(() => {
      this.#incoming -= 1;
      if (this.#isStarted) this.#deliver(message);
      else this.#held.push(message);
    });
  }

  #deliver(message: unknown): void {
    if (!this.#isOpen) return;
    const type = this.#isNextGarbled ? "messageerror" : "message";
    this.#isNextGarbled = false;
    const event = new MessageEvent(type, { data: type === "message" ? message : null });
    for (const listener of [...this.#listenersOf(type)]) listener(event);
  }

  #listenersOf(type: "message" | "messageerror"): Set<Listener> {
    let listeners = this.#listeners.get(type);
    if (listeners === undefined) this.#listeners.set(type, (listeners = new Set()));
    return listeners;
  }
}
