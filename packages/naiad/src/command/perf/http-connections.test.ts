import type { Server, Socket } from "node:net";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { HttpConnections } from "./http-connections.ts";
import { createHttpConnections, httpMessage } from "./http-connections.ts";
import { DEFAULT_TLS } from "./tls-options.ts";

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

let server: Server;
let sockets: Socket[];
/** What the server does with each request on a connection. */
let onRequest: (socket: Socket, nth: number) => void;
let connections: HttpConnections;
let url: URL;

beforeEach(async () => {
  sockets = [];
  onRequest = (socket) => socket.write(OK);
  server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    let nth = 0;
    socket.on("data", () => {
      nth += 1;
      onRequest(socket, nth);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  connections = createHttpConnections({ url, tls: DEFAULT_TLS });
});
afterEach(async () => {
  connections.destroy(new Error("over"));
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

const send = () => connections.send(httpMessage(url, { method: "GET", path: "/", headers: {} }));

describe("connections over HTTP", () => {
  it("make a request's bytes once, for any number of times", () => {
    const message = httpMessage(url, {
      method: "POST",
      path: "/a?b",
      headers: { X: 1 },
      body: new Uint8Array([65]),
    });
    expect(Buffer.from(message).toString()).toBe(
      `POST /a?b HTTP/1.1\r\nHost: ${url.host}\r\nX: 1\r\nContent-Length: 1\r\n\r\nA`,
    );
  });

  it("are used again, one request at a time", async () => {
    for (let n = 0; n < 3; n += 1) {
      const { receiveNs, response, sendNs } = await send();
      expect(Buffer.from(response.body()).toString()).toBe("ok");
      expect(sendNs).toBeGreaterThanOrEqual(0);
      expect(receiveNs).toBeGreaterThanOrEqual(0);
    }
    expect(sockets).toHaveLength(1);
    await Promise.all([send(), send(), send()]);
    expect(sockets).toHaveLength(3);
  });

  it("are not used again where the server ends them", async () => {
    onRequest = (socket) => socket.end("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
    await send();
    await send();
    expect(sockets).toHaveLength(2);
  });

  it("send a request once more where the server had given up the connection just then", async () => {
    onRequest = (socket, nth) => {
      if (nth === 1) socket.write(OK);
      else socket.destroy();
    };
    await send();
    expect((await send()).response.status).toBe(200);
    expect(sockets).toHaveLength(2);
  });

  it("reject where a new connection is given up, or an answer is cut off", async () => {
    onRequest = (socket) => socket.destroy();
    await expect(send()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    onRequest = (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab");
    await expect(send()).rejects.toThrow("in the middle of an answer");
    onRequest = (socket) => socket.write("nonsense\r\n\r\n");
    await expect(send()).rejects.toThrow("is no HTTP/1.1");
  });

  it("reject what is on its way when they are ended", async () => {
    onRequest = () => {
      connections.destroy(new Error("stopped"));
    };
    await expect(send()).rejects.toThrow("stopped");
  });
});
