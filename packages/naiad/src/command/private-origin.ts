import { randomBytes } from "node:crypto";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { sendText } from "../site/send.ts";

/** What the page, or a worker of it, asks for. */
export interface PrivateRequest {
  /** The path behind the base, without a query. */
  readonly name: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export interface PrivateOriginOptions {
  /** Of `privateBase`. */
  readonly base: string;
  /** HTML of what lies at the base. */
  readonly page: string;
  /** Everything below it. What it rejects with is answered with 500, or breaks off an answer that has begun. */
  readonly answer: (request: PrivateRequest) => Promise<void>;
}

/** An origin of its own for one browser that the command starts. Its pages are isolated. */
export interface PrivateOrigin {
  /** Host, port and base, with a slash at its end. */
  readonly address: string;
  readonly server: Server;
  close(): Promise<void>;
}

/** What nobody guesses, fit for a URL. */
export function randomToken(): string {
  return randomBytes(24).toString("base64url");
}

/** Every user of the machine could ask at a port: so everything lies under a path that only the browser is told. */
export function privateBase(): string {
  return `/${randomToken()}/`;
}

/** Listens on a free port of the loopback interface. */
export async function openPrivateOrigin({
  answer,
  base,
  page,
}: PrivateOriginOptions): Promise<PrivateOrigin> {
  async function answerAny(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ""] = (request.url ?? "").split("?");
    response.setHeader("cross-origin-opener-policy", "same-origin");
    response.setHeader("cross-origin-embedder-policy", "require-corp");
    response.setHeader("cross-origin-resource-policy", "same-origin");
    if (!path.startsWith(base)) refuse(response, 404);
    else if (path === base) answerPage(request, response);
    else await answer({ name: path.slice(base.length), request, response });
  }

  function answerPage(request: IncomingMessage, response: ServerResponse): void {
    if (isReading(request))
      sendText(page, { "content-type": "text/html; charset=utf-8" }, { request, response });
    else refuse(response, 405);
  }

  const server = createServer((request, response) => {
    answerAny(request, response).catch(() => {
      refuse(response, 500);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  // Of a port of TCP the address is an object.
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${String(port)}${base}`,
    server,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

export function isReading({ method }: IncomingMessage): boolean {
  return method === "GET" || method === "HEAD";
}

/** Without a body; an answer that has begun is broken off. */
export function refuse(response: ServerResponse, status: 404 | 405 | 500): void {
  if (response.headersSent) response.destroy();
  else response.writeHead(status).end();
}
