import { readFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import type { Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TlsOptions } from "node:tls";
import type { ListenerOptions, TlsFiles } from "../options/serve-options.ts";
import type { HostSource } from "./host-source.ts";
import { relayExchange } from "./relay-exchange.ts";
import type { RelayOutcome } from "./relay-exchange.ts";

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
  const server = await createServer(options.tls);
  // Clients keep connections for a long while, and one that is closed under a request looks like a failure of the server.
  server.keepAliveTimeout = 0;
  // A body, and the time until its answer, may take as long as they take.
  server.requestTimeout = 0;
  server.on("request", (request, response) => {
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
    close: (signal) => close(server, signal),
  };
}

async function createServer(tls: TlsFiles | undefined): Promise<Server> {
  return tls === undefined ? createHttpServer() : createHttpsServer(await readTls(tls));
}

async function readTls({ certificate, clientRoots, key }: TlsFiles): Promise<TlsOptions> {
  return {
    cert: await readFile(certificate),
    key: await readFile(key),
    ...(clientRoots !== undefined && {
      ca: await readFile(clientRoots),
      requestCert: true,
      rejectUnauthorized: true,
    }),
  };
}

function listen(server: Server, { address, port, protocol }: ListenerOptions): Promise<number> {
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

function close(server: Server, signal: AbortSignal): Promise<void> {
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
