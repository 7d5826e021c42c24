import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import { connect, constants } from "node:http2";
import type { StatusCode } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { createGrpcMessageReader } from "./grpc-messages.ts";
import type { TlsOptions } from "./tls-options.ts";
import { tlsConnectionOptions } from "./tls-options.ts";

export interface GrpcCallsOptions {
  /** With the scheme `http` or `https`. */
  readonly url: string;
  readonly tls: TlsOptions;
  /** Sent with every call. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface GrpcAnswer {
  readonly messages: readonly Uint8Array[];
  readonly sendNs: number;
  readonly receiveNs: number;
}

/** A call that stays open, with one request at a time on its way. */
export interface GrpcStream {
  /**
   * Sends a message, as `grpcFrame` makes it, and hears those that come, until it says that it has heard the last. Rejects with
   * what `hear` throws, and with the status of a call that ends before.
   */
  exchange(frame: Uint8Array, hear: (message: Uint8Array) => "more" | "last"): Promise<void>;
  readonly isOpen: boolean;
}

export interface GrpcCalls {
  /**
   * One message, framed, to a method of `inference.GRPCInferenceService`. Resolves when the call has ended well; rejects with the
   * server's status, and UNAVAILABLE where there is no way to it.
   */
  call(method: string, frame: Uint8Array, signal?: AbortSignal): Promise<GrpcAnswer>;
  openStream(method: string): GrpcStream;
  /** Ends all calls once. */
  cancelWith(signal: AbortSignal): void;
  close(): void;
}

/** gRPC's status codes that stand for Triton's. */
const STATUS: ReadonlyMap<number, StatusCode> = new Map([
  [1, "CANCELLED"],
  [3, "INVALID_ARG"],
  [5, "NOT_FOUND"],
  [6, "ALREADY_EXISTS"],
  [12, "UNSUPPORTED"],
  [13, "INTERNAL"],
  [14, "UNAVAILABLE"],
]);

/** gRPC over one HTTP/2 connection: whole messages there and back, nothing decoded. */
export function createGrpcCalls({ headers, tls, url }: GrpcCallsOptions): GrpcCalls {
  let session: ClientHttp2Session | undefined;
  const live = new Set<ClientHttp2Stream>();
  let watched: AbortSignal | undefined;
  /** The same for every call of a method. */
  const heads = new Map<string, Readonly<Record<string, string>>>();

  function connected(): ClientHttp2Session {
    if (session?.destroyed === false && !session.closed) return session;
    session = connect(url, { settings: { initialWindowSize: 1 << 24 }, ...tlsConnectionOptions(tls) });
    // Calls have the error too.
    session.on("error", () => undefined);
    return session;
  }

  function headOf(method: string): Readonly<Record<string, string>> {
    const known = heads.get(method);
    if (known !== undefined) return known;
    const head = {
      ":method": "POST",
      ":path": `/inference.GRPCInferenceService/${method}`,
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    };
    heads.set(method, head);
    return head;
  }

  function cancelWith(signal: AbortSignal): void {
    signal.throwIfAborted();
    if (watched === signal) return;
    watched = signal;
    signal.addEventListener(
      "abort",
      () => {
        for (const stream of live) stream.close(constants.NGHTTP2_CANCEL);
      },
      { once: true },
    );
  }

  /** A call whose messages go to `onData`. `onEnd` is called once, with the error where it has not ended well. */
  function begin(
    method: string,
    on: { readonly data: (piece: Buffer) => void; readonly end: (error?: InferenceError) => void },
  ): ClientHttp2Stream {
    const stream = connected().request(headOf(method));
    live.add(stream);
    let failure: InferenceError | undefined;
    let status: IncomingHttpHeaders | undefined;
    stream.on("response", (answer: IncomingHttpHeaders) => {
      status = answer;
    });
    stream.on("trailers", (trailers: IncomingHttpHeaders) => {
      status = trailers;
    });
    stream.on("data", on.data);
    stream.on("error", (error: Error) => {
      // Node.js says of a stream that it was cancelled, and why in the cause: no connection, or a broken one.
      const { message } = error.cause instanceof Error ? error.cause : error;
      failure ??= new InferenceError("UNAVAILABLE", `${url}: ${message}`, { cause: error });
    });
    stream.on("close", () => {
      live.delete(stream);
      on.end(failure ?? failureIn(status, url));
    });
    return stream;
  }

  return {
    cancelWith,
    call: (method, frame, signal) =>
      new Promise((resolve, reject) => {
        if (signal !== undefined) cancelWith(signal);
        const startMs = performance.now();
        let sentMs = startMs;
        let firstMs = 0;
        const pieces: Buffer[] = [];
        const stream = begin(method, {
          data: (piece) => {
            if (firstMs === 0) firstMs = performance.now();
            pieces.push(piece);
          },
          end: (error) => {
            if (error !== undefined) {
              reject(error);
              return;
            }
            const endMs = performance.now();
            const first = firstMs === 0 ? endMs : firstMs;
            try {
              const messages = messagesIn(pieces);
              resolve({ messages, sendNs: (sentMs - startMs) * 1e6, receiveNs: (endMs - first) * 1e6 });
            } catch (thrown) {
              reject(InferenceError.from(thrown));
            }
          },
        });
        stream.end(frame);
        sentMs = performance.now();
      }),
    openStream: (method) => openStream((on) => begin(method, on)),
    close: () => {
      for (const stream of live) stream.close(constants.NGHTTP2_CANCEL);
      session?.close();
    },
  };
}

function openStream(
  begin: (on: {
    readonly data: (piece: Buffer) => void;
    readonly end: (error?: InferenceError) => void;
  }) => ClientHttp2Stream,
): GrpcStream {
  const reader = createGrpcMessageReader();
  let isOpen = true;
  let current:
    | {
        readonly hear: (message: Uint8Array) => "more" | "last";
        readonly resolve: () => void;
        readonly reject: (error: Error) => void;
      }
    | undefined;

  function hear(message: Uint8Array): void {
    const exchange = current;
    if (exchange === undefined) return;
    try {
      if (exchange.hear(message) === "more") return;
      current = undefined;
      exchange.resolve();
    } catch (thrown) {
      current = undefined;
      exchange.reject(InferenceError.from(thrown));
    }
  }

  const stream = begin({
    data: (piece) => {
      try {
        for (const message of reader.push(piece)) hear(message);
      } catch (thrown) {
        current?.reject(InferenceError.from(thrown));
        stream.close(constants.NGHTTP2_CANCEL);
      }
    },
    end: (error) => {
      isOpen = false;
      current?.reject(error ?? new InferenceError("UNAVAILABLE", "the server has ended the stream"));
    },
  });
  return {
    get isOpen() {
      return isOpen;
    },
    exchange: (frame, onMessage) =>
      new Promise((resolve, reject) => {
        current = { hear: onMessage, resolve, reject };
        stream.write(frame);
      }),
  };
}

/** Why a call with this end has not ended well. */
function failureIn(headers: IncomingHttpHeaders | undefined, url: string): InferenceError | undefined {
  const text = headers?.["grpc-status"];
  if (text === "0") return undefined;
  if (text === undefined) {
    const http = headers?.[":status"];
    const reason =
      http === undefined ? "the call ended without an answer" : `HTTP status ${String(http)}, and no gRPC`;
    return new InferenceError("UNAVAILABLE", `${url}: ${reason}`);
  }
  const message = decodeURIComponent(String(headers?.["grpc-message"] ?? ""));
  return new InferenceError(STATUS.get(Number(text)) ?? "UNKNOWN", message);
}

function messagesIn(pieces: readonly Buffer[]): readonly Uint8Array[] {
  const reader = createGrpcMessageReader();
  const [only] = pieces;
  const messages = only === undefined ? [] : reader.push(pieces.length === 1 ? only : Buffer.concat(pieces));
  reader.end();
  return messages;
}
