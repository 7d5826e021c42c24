import { readFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import type { Server } from "node:http";
import type { Http2SecureServer, Http2Server, ServerHttp2Session, ServerOptions } from "node:http2";
import { createServer as createHttp2Server, createSecureServer } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Server as NetServer } from "node:net";
import type { TlsOptions } from "node:tls";
import { createSecureContext } from "node:tls";
import type { ListenerOptions, TlsFiles } from "../options/serve-options.ts";
import type { HostSource } from "./host-source.ts";
import { answerMalformedRequests } from "./malformed-request.ts";
import { relayExchange } from "./relay-exchange.ts";
import type { NodeRequest, NodeResponse, RelayOutcome } from "./relay-exchange.ts";
import { watchSession } from "./watch-session.ts";

export interface Listener {
  readonly protocol: ListenerOptions["protocol"];
  /** As it is told to people: `127.0.0.1:8000`. */
  readonly at: string;
  readonly port: number;
  /** Takes no new connections, and resolves when the last exchange has ended or `signal` has fired. */
  close(signal: AbortSignal): Promise<void>;
}

export interface ServedRequest extends RelayOutcome {
  readonly remoteAddress: string;
  readonly method: string;
  readonly rawTarget: string;
  readonly httpVersion: string;
  readonly startedMs: number;
  readonly durationMs: number;
}

/** Rejects with a text for people where the port cannot be had. */
export async function openListener(
  options: ListenerOptions,
  source: HostSource,
  onServed: (served: ServedRequest) => void,
): Promise<Listener> {
  const { protocol } = options;
  const { close, server } = await createServer(options);
  server.on("request", (request: NodeRequest, response: NodeResponse) => {
    const startedMs = Date.now();
    const begun = performance.now();
    void relayExchange(source, { protocol, request, response }).then((outcome) => {
      onServed({
        ...outcome,
        remoteAddress: request.socket.remoteAddress ?? "-",
        method: request.method ?? "-",
        rawTarget: request.url ?? "-",
        httpVersion: request.httpVersion,
        startedMs,
        durationMs: performance.now() - begun,
      });
    });
  });
  const port = await listen(server, options);
  const { address } = options;
  return {
    protocol,
    at: `${address.includes(":") ? `[${address}]` : address}:${String(port)}`,
    port,
    close,
  };
}

interface ListeningServer {
  readonly server: Pick<NetServer, "address" | "listen" | "off" | "on" | "once">;
  readonly close: (signal: AbortSignal) => Promise<void>;
}

/** As much as one exchange may have in the tunnel. */
const STREAM_WINDOW_BYTES = 2 ** 20;
const CONNECTION_WINDOW_BYTES = 16 * STREAM_WINDOW_BYTES;

/**
 * Node's own bound on what the streams of a connection may hold, 10 MB, ends calls with large tensors; the windows and the
 * limits of the host bound them too. Streams are as many as gRPC's own servers allow.
 */
const HTTP2: ServerOptions = {
  maxSessionMemory: 2 ** 20,
  settings: { initialWindowSize: STREAM_WINDOW_BYTES, maxConcurrentStreams: 2 ** 31 - 1 },
};

/** gRPC is HTTP/2 and nothing else, without TLS from the first byte on. */
async function createServer(options: ListenerOptions): Promise<ListeningServer> {
  const { tls } = options;
  const secrets = tls === undefined ? undefined : await readTls(tls, options.protocol);
  if (options.protocol === "grpc") {
    const server =
      secrets === undefined ? createHttp2Server(HTTP2) : createSecureServer({ ...HTTP2, ...secrets });
    server.on("session", (session) => {
      session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
      watchSession(session, options.sessions);
    });
    return { server, close: closerOf(server) };
  }
  // As tritonserver, which does not ask for the header that HTTP/1.1 asks for.
  const lenient = { requireHostHeader: false };
  const server =
    secrets === undefined ? createHttpServer(lenient) : createHttpsServer({ ...lenient, ...secrets });
  answerMalformedRequests(server);
  // Clients keep connections for a long while, and one that is closed under a request looks like a failure of the server.
  server.keepAliveTimeout = 0;
  // A body, and the time until its answer, may take as long as they take.
  server.requestTimeout = 0;
  return { server, close: (signal) => closeHttp(server, signal) };
}

/** Rejects with the option whose file it is that cannot be used. */
async function readTls(files: TlsFiles, protocol: ListenerOptions["protocol"]): Promise<TlsOptions> {
  const { certificate, clientRoots, key } = files;
  const read = async (option: string, path: string): Promise<Buffer> => {
    try {
      return await readFile(path);
    } catch (error) {
      throw new Error(`--${protocol}-${option}: ${messageOf(error)}`, { cause: error });
    }
  };
  const secrets: TlsOptions = {
    cert: await read("server-cert", certificate),
    key: await read("server-key", key),
    ...(clientRoots !== undefined && {
      ca: await read("root-cert", clientRoots),
      requestCert: true,
      rejectUnauthorized: true,
    }),
  };
  try {
    createSecureContext(secrets);
  } catch (error) {
    const names = [certificate, key, ...(clientRoots === undefined ? [] : [clientRoots])];
    throw new Error(`--${protocol}-use-ssl: ${names.join(", ")}: ${messageOf(error)}`, { cause: error });
  }
  return secrets;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function listen(
  server: ListeningServer["server"],
  { address, port, protocol }: ListenerOptions,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => {
      const at = `${address}:${String(port)}`;
      const reason =
        error.code === "EADDRINUSE"
          ? `the port is in use; --${protocol}-port names another, and 0 takes a free one`
          : error.message;
      reject(new Error(`failed to start ${protocol} at ${at}: ${reason}`, { cause: error }));
    };
    server.once("error", failed);
    server.listen({ host: address, port }, () => {
      server.off("error", failed);
      // Of a port of TCP the address is an object.
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** A connection that a client keeps is idle only some time after the server has been closed. */
const LOOK_EVERY_MS = 50;

function closeHttp(server: Server, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      server.closeAllConnections();
    };
    const look = setInterval(() => {
      server.closeIdleConnections();
    }, LOOK_EVERY_MS);
    server.close(() => {
      clearInterval(look);
      signal.removeEventListener("abort", end);
      resolve();
    });
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}

/** Connections of HTTP/2 are told that the server ends, and end after their last exchange. */
function closerOf(server: Http2Server | Http2SecureServer): ListeningServer["close"] {
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => {
      sessions.delete(session);
    });
  });
  return (signal) =>
    new Promise((resolve) => {
      const end = (): void => {
        for (const session of sessions) session.destroy();
      };
      server.close(() => {
        signal.removeEventListener("abort", end);
        resolve();
      });
      for (const session of sessions) session.close();
      if (signal.aborted) end();
      else signal.addEventListener("abort", end, { once: true });
    });
}
