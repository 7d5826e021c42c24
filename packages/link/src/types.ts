import type { InferenceError } from "@naiad/protocol";

/** What one end of a channel offers to the other. Everything in it must be plain data. */
export interface ChannelContract {
  readonly calls: Readonly<Record<string, CallShape>>;
  readonly streams: Readonly<Record<string, StreamShape>>;
  /** One-way messages. */
  readonly notes: Readonly<Record<string, unknown>>;
}
export interface CallShape {
  readonly input: unknown;
  readonly output: unknown;
}
export interface StreamShape {
  readonly input: unknown;
  readonly item: unknown;
}

/** The contract of an end that offers nothing. */
export interface EmptyContract extends ChannelContract {
  readonly calls: Record<never, CallShape>;
  readonly streams: Record<never, StreamShape>;
  readonly notes: Record<never, unknown>;
}

/** The part of `MessagePort`, `Worker` and a worker's own scope that a channel needs. */
export interface Endpoint {
  postMessage(message: unknown, transfer: Transferable[]): void;
  addEventListener(type: "message" | "messageerror", listener: (event: MessageEvent) => void): void;
  removeEventListener(type: "message" | "messageerror", listener: (event: MessageEvent) => void): void;
  /** Needed by a MessagePort that is listened to with `addEventListener`. */
  start?(): void;
  close?(): void;
}

export interface CallOptions {
  /** Buffers and ports inside the input that change hands. Everything else is copied. */
  readonly transfer?: readonly Transferable[];
  /** Abort sends a cancel and rejects at once with CANCELLED; a later answer is dropped. */
  readonly signal?: AbortSignal;
}

export interface StreamOptions extends CallOptions {
  /** How many items may be under way unread. */
  readonly credits?: number;
}

/** The side that asks. */
export interface Channel<Remote extends ChannelContract> {
  /** Rejects with an InferenceError: the handler's, CANCELLED after an abort, or the reason given to `close` (loss). */
  call<Name extends keyof Remote["calls"] & string>(
    name: Name,
    input: Remote["calls"][Name]["input"],
    options?: CallOptions,
  ): Promise<Remote["calls"][Name]["output"]>;
  /**
   * Ends only with the other side's explicit end; anything else is an error. Leaving the loop early cancels the stream.
   */
  stream<Name extends keyof Remote["streams"] & string>(
    name: Name,
    input: Remote["streams"][Name]["input"],
    options?: StreamOptions,
  ): AsyncIterable<Remote["streams"][Name]["item"]>;
  notify<Name extends keyof Remote["notes"] & string>(
    name: Name,
    note: Remote["notes"][Name],
    options?: { readonly transfer?: readonly Transferable[] },
  ): void;
  /** Ends every pending call and stream with `reason`, tells the other side nothing it could miss, and closes the endpoint. Idempotent. */
  close(reason: InferenceError): void;
  /** Resolves when the channel was closed here or by a goodbye of the other side. */
  readonly closed: Promise<InferenceError>;
}

export interface CallContext {
  /** Fires when the asking side cancelled or is gone. */
  readonly signal: AbortSignal;
}

/** A handler's answer: the value, and what of it changes hands. */
export interface Reply<Output> {
  readonly value: Output;
  readonly transfer?: readonly Transferable[];
}

/** The side that answers. */
export interface ChannelHandlers<Local extends ChannelContract> {
  readonly calls: {
    readonly [Name in keyof Local["calls"]]: (
      input: Local["calls"][Name]["input"],
      context: CallContext,
    ) => Promise<Reply<Local["calls"][Name]["output"]>>;
  };
  readonly streams: {
    readonly [Name in keyof Local["streams"]]: (
      input: Local["streams"][Name]["input"],
      context: CallContext,
    ) => AsyncIterable<Reply<Local["streams"][Name]["item"]>>;
  };
  readonly notes: {
    readonly [Name in keyof Local["notes"]]: (note: Local["notes"][Name]) => void;
  };
}

/**
 * Named points along the path of a request at which tests can make things go wrong. Production code passes none.
 */
export type FaultPoint =
  | "channel.before-send"
  | "channel.before-handle"
  | "channel.before-reply"
  | "instance.before-execute"
  | "instance.before-reply"
  | "host.before-dispatch"
  | "gateway.before-forward"
  | "gateway.before-respond";

/** Called at a fault point; may throw, hang (by returning a promise that does not settle) or kill something. */
export type FaultHook = (point: FaultPoint, detail: string) => void | Promise<void>;

export interface ChannelOptions {
  /** Prefix of texts about the other side, for example `instance worker m_0_0`. */
  readonly peer: string;
  readonly fault?: FaultHook;
}
