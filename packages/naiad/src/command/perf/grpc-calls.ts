import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import { connect, constants } from "node:http2";
import type { StatusCode } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";

export interface GrpcCall {
  /** Of the service `inference.GRPCInferenceService`. */
  readonly method: string;
  /** With its frame: `grpcFrame`. */
  readonly message: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

export interface GrpcAnswer {
  readonly messages: readonly Uint8Array[];
  readonly sendNs: number;
  readonly receiveNs: number;
}

export interface GrpcCalls {
  /** Resolves when the call has ended well; rejects with the server's status, and UNAVAILABLE where there is no way to it. */
  call(call: GrpcCall, signal?: AbortSignal): Promise<GrpcAnswer>;
  close(): void;
}

const HEAD_SIZE = 5;

/** A message as gRPC frames it, not compressed. */
export function grpcFrame(message: Uint8Array): Uint8Array {
  const frame = new Uint8Array(HEAD_SIZE + message.length);
  new DataView(frame.buffer).setUint32(1, message.length);
  frame.set(message, HEAD_SIZE);
  return frame;
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
export function createGrpcCalls(url: string): GrpcCalls {
  let session: ClientHttp2Session | undefined;
  const live = new Set<ClientHttp2Stream>();
  let watched: AbortSignal | undefined;

  function connected(): ClientHttp2Session {
    if (session?.destroyed === false && !session.closed) return session;
    session = connect(url, { settings: { initialWindowSize: 1 << 24 } });
    // Calls have the error too.
    session.on("error", () => undefined);
    return session;
  }

  function endWith(signal: AbortSignal): void {
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

  return {
    call: ({ method, message, headers }, signal) =>
      new Promise((resolve, reject) => {
        if (signal !== undefined) endWith(signal);
        const startMs = performance.now();
        const stream = connected().request({
          ":method": "POST",
          ":path": `/inference.GRPCInferenceService/${method}`,
          "content-type": "application/grpc",
          te: "trailers",
          ...headers,
        });
        live.add(stream);
        let sentMs = startMs;
        let firstMs: number | undefined;
        let status: IncomingHttpHeaders = {};
        const pieces: Buffer[] = [];
        stream.on("response", (answerHeaders: IncomingHttpHeaders) => {
          status = answerHeaders;
        });
        stream.on("trailers", (trailers: IncomingHttpHeaders) => {
          status = { ...status, ...trailers };
        });
        stream.on("data", (piece: Buffer) => {
          firstMs ??= performance.now();
          pieces.push(piece);
        });
        stream.on("error", (error: Error) => {
          live.delete(stream);
          reject(new InferenceError("UNAVAILABLE", `${url}: ${error.message}`, { cause: error }));
        });
        stream.on("close", () => {
          live.delete(stream);
          const endMs = performance.now();
          try {
            checkStatus(status, url);
            const first = firstMs ?? endMs;
            resolve({
              messages: messagesIn(Buffer.concat(pieces)),
              sendNs: (Math.min(sentMs, first) - startMs) * 1e6,
              receiveNs: (endMs - first) * 1e6,
            });
          } catch (error) {
            reject(InferenceError.from(error));
          }
        });
        stream.end(message, () => {
          sentMs = performance.now();
        });
      }),
    close: () => {
      session?.close();
    },
  };
}

function checkStatus(headers: IncomingHttpHeaders, url: string): void {
  const text = headers["grpc-status"];
  if (text === "0") return;
  if (text === undefined) {
    const http = headers[":status"];
    const reason =
      http === undefined ? "the call ended without an answer" : `HTTP status ${String(http)}, and no gRPC`;
    throw new InferenceError("UNAVAILABLE", `${url}: ${reason}`);
  }
  const message = decodeURIComponent(String(headers["grpc-message"] ?? ""));
  throw new InferenceError(STATUS.get(Number(text)) ?? "UNKNOWN", message);
}

function messagesIn(body: Buffer): readonly Uint8Array[] {
  const messages: Uint8Array[] = [];
  for (let offset = 0; offset < body.length;) {
    const end =
      offset + HEAD_SIZE + (offset + HEAD_SIZE <= body.length ? body.readUInt32BE(offset + 1) : body.length);
    if (end > body.length) throw new InferenceError("INTERNAL", "a gRPC message was cut off");
    messages.push(body.subarray(offset + HEAD_SIZE, end));
    offset = end;
  }
  return messages;
}
