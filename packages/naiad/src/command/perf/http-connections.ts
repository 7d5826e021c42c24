import type { Socket } from "node:net";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { InferenceError } from "@naiad/protocol";
import type { HttpResponse, ResponseReader } from "./http-response.ts";
import { createResponseReader } from "./http-response.ts";
import type { TlsOptions } from "./tls-options.ts";
import { tlsConnectionOptions } from "./tls-options.ts";

export interface HttpConnectionsOptions {
  /** With the scheme `http` or `https`. */
  readonly url: URL;
  readonly tls: TlsOptions;
}

export interface HttpAnswer {
  readonly response: HttpResponse;
  /** Until the system had all of the request. */
  readonly sendNs: number;
  /** From the first byte of the answer to its last. */
  readonly receiveNs: number;
}

/** Connections that stay open, each with one request at a time. */
export interface HttpConnections {
  /** `message`: the whole request, as `httpMessage` makes it. UNAVAILABLE where there is no way to the server. */
  readonly send: (message: Uint8Array) => Promise<HttpAnswer>;
  /** Ends all of them; requests on their way are rejected with the reason. */
  destroy(reason: Error): void;
}

/** A request to be sent, any number of times. `headers` do not say the length of the body. */
export function httpMessage(
  url: URL,
  request: {
    readonly method: string;
    /** With its query. */
    readonly path: string;
    readonly headers: Readonly<Record<string, string | number>>;
    readonly body?: Uint8Array;
  },
): Uint8Array {
  const { body, headers, method, path } = request;
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${url.host}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : [`Content-Length: ${body.length}`]),
  ];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), body ?? new Uint8Array()]);
}

/** A request on its way over a connection. */
interface Exchange {
  readonly message: Uint8Array;
  /** Of a connection that has carried others: the server may have closed it meanwhile. */
  readonly isReused: boolean;
  readonly reader: ResponseReader;
  readonly startMs: number;
  sentMs: number;
  firstMs: number | undefined;
  readonly resolve: (answer: HttpAnswer) => void;
  readonly reject: (error: Error) => void;
}

interface Connection {
  readonly socket: Socket;
  exchange: Exchange | undefined;
}

/**
 * A client of HTTP/1.1 that costs little of the processor that it shares with the server: Node's own takes three times as much for
 * a request, which shows in the figures of a fast model.
 */
export function createHttpConnections({ tls, url }: HttpConnectionsOptions): HttpConnections {
  const idle: Connection[] = [];
  const open = new Set<Connection>();

  function connected(): Connection {
    const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
    const isTls = url.protocol === "https:";
    const port = Number(url.port === "" ? (isTls ? 443 : 80) : url.port);
    const socket: Socket = isTls
      ? connectTls({
          host,
          port,
          ...(/[a-z]/i.test(host) && { servername: host }),
          ...tlsConnectionOptions(tls),
        })
      : connect({ host, port, noDelay: true });
    const connection: Connection = { socket, exchange: undefined };
    open.add(connection);
    socket.on("data", (bytes: Buffer) => {
      onData(connection, bytes);
    });
    socket.on("drain", () => {
      if (connection.exchange !== undefined) connection.exchange.sentMs = performance.now();
    });
    socket.on("error", (error: Error) => {
      fail(connection, new InferenceError("UNAVAILABLE", error.message, { cause: error }));
    });
    socket.on("close", () => {
      onClose(connection);
    });
    return connection;
  }

  function onData(connection: Connection, bytes: Buffer): void {
    const { exchange } = connection;
    if (exchange === undefined) {
      connection.socket.destroy();
      return;
    }
    exchange.firstMs ??= performance.now();
    try {
      const response = exchange.reader.push(bytes);
      if (response !== undefined) finish(connection, exchange, response);
    } catch (thrown) {
      fail(connection, InferenceError.from(thrown));
    }
  }

  function finish(connection: Connection, exchange: Exchange, response: HttpResponse): void {
    const endMs = performance.now();
    const firstMs = exchange.firstMs ?? endMs;
    connection.exchange = undefined;
    if (response.keepsAlive) idle.push(connection);
    else connection.socket.end();
    exchange.resolve({
      response,
      sendNs: Math.max(Math.min(exchange.sentMs, firstMs) - exchange.startMs, 0) * 1e6,
      receiveNs: (endMs - firstMs) * 1e6,
    });
  }

  function onClose(connection: Connection): void {
    open.delete(connection);
    const index = idle.indexOf(connection);
    if (index >= 0) idle.splice(index, 1);
    const { exchange } = connection;
    if (exchange === undefined) return;
    try {
      finish(connection, exchange, exchange.reader.end());
    } catch (thrown) {
      fail(connection, InferenceError.from(thrown));
    }
  }

  function fail(connection: Connection, error: InferenceError): void {
    const { exchange } = connection;
    connection.exchange = undefined;
    connection.socket.destroy();
    if (exchange === undefined) return;
    // The server has closed a connection that it had no use for, just when it was used again.
    if (exchange.isReused && !exchange.reader.hasBegun && error.code === "UNAVAILABLE") {
      begin(connected(), { ...exchange, isReused: false, reader: createResponseReader() });
    } else exchange.reject(error);
  }

  function begin(connection: Connection, exchange: Exchange): void {
    connection.exchange = exchange;
    connection.socket.write(exchange.message);
    exchange.sentMs = performance.now();
  }

  return {
    send: (message) =>
      new Promise((resolve, reject) => {
        const reused = idle.pop();
        const nowMs = performance.now();
        begin(reused ?? connected(), {
          message,
          isReused: reused !== undefined,
          reader: createResponseReader(),
          startMs: nowMs,
          sentMs: nowMs,
          firstMs: undefined,
          resolve,
          reject,
        });
      }),
    destroy: (reason) => {
      for (const connection of open) {
        const { exchange } = connection;
        connection.exchange = undefined;
        connection.socket.destroy();
        exchange?.reject(reason);
      }
    },
  };
}
