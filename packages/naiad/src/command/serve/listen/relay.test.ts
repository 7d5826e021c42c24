import { Agent, request as httpRequest } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, RequestOptions } from "node:http";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { collectBytes, okText, servePort, untilAborted } from "../../../../test/served-port.ts";
import { openListener } from "./listener.ts";

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

function open(port: number, options: RequestOptions = {}, body: readonly Uint8Array[] = []) {
  const request = httpRequest({ host: "127.0.0.1", port, agent: false, ...options });
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    request.on("response", resolve);
    request.on("error", reject);
  });
  response.catch(() => undefined);
  for (const part of body) request.write(part);
  request.end();
  return { request, response };
}

async function ask(
  port: number,
  options: RequestOptions = {},
  body: readonly Uint8Array[] = [],
): Promise<Answer> {
  const response = await open(port, options, body).response;
  const { headers, statusCode: status } = response;
  return { status, headers, text: (await collectBytes(response)).toString() };
}

/** Everything that comes back until the end. */
async function sendRaw(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(text);
  return (await collectBytes(socket)).toString();
}

describe("a port", () => {
  it("hands over requests as they are: raw path, headers in order, body, count of chunks", async () => {
    const { listener, served } = await servePort(async ({ body, ended, headers, method, rawTarget }) => {
      const content = (await collectBytes(body)).toString();
      const { chunkCount } = await ended;
      const own = headers.filter(([name]) => name.startsWith("x-"));
      return {
        status: 201,
        headers: [
          ["x-a", "1"],
          ["x-a", "2"],
        ],
        body: new TextEncoder().encode(JSON.stringify([method, rawTarget, own, content, chunkCount])),
      };
    });
    const answer = await ask(
      listener.port,
      { method: "POST", path: "/v2/models/a%2Fb/../c?q=1", headers: { "X-One": "é", "x-two": ["3", "4"] } },
      [Buffer.from("ab"), Buffer.from("c")],
    );
    expect([answer.status, answer.headers["x-a"]]).toEqual([201, "1, 2"]);
    expect(JSON.parse(answer.text)).toEqual([
      "POST",
      "/v2/models/a%2Fb/../c?q=1",
      [
        ["x-one", "é"],
        ["x-two", "3"],
        ["x-two", "4"],
      ],
      "abc",
      2,
    ]);
    expect(served).toMatchObject([
      { status: 201, method: "POST", bodyBytes: Buffer.byteLength(answer.text) },
    ]);
  });

  it("streams both ways at once", async () => {
    const { listener } = await servePort(({ body }) => Promise.resolve({ status: 200, headers: [], body }));
    const request = httpRequest({ host: "127.0.0.1", port: listener.port, method: "POST", agent: false });
    const answered = new Promise<IncomingMessage>((resolve) => {
      request.on("response", resolve);
    });
    request.write("first");
    const response = await answered;
    const pieces = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    expect(String((await pieces.next()).value)).toBe("first");
    request.end("second");
    expect(String((await pieces.next()).value)).toBe("second");
    expect((await pieces.next()).done).toBe(true);
  });

  it("keeps a connection for the next request", async () => {
    const { listener } = await servePort(({ rawTarget }) => Promise.resolve(okText(rawTarget)));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const first = await open(listener.port, { agent, path: "/1" }).response;
    const { socket } = first;
    expect((await collectBytes(first)).toString()).toBe("/1");
    const second = await open(listener.port, { agent, path: "/2" }).response;
    expect(second.socket === socket).toBe(true);
    expect((await collectBytes(second)).toString()).toBe("/2");
    agent.destroy();
  });

  it("cancels in the host when the client goes away, before the answer and during it", async () => {
    const seen: AbortSignal[] = [];
    const { listener } = await servePort((request) => {
      seen.push(request.signal);
      if (request.rawTarget === "/begun") {
        const body = (async function* () {
          yield Buffer.from("begun");
          yield await untilAborted(request);
        })();
        return Promise.resolve({ status: 200, headers: [], body });
      }
      return untilAborted(request);
    });
    const waiting = open(listener.port);
    const begun = open(listener.port, { path: "/begun" });
    (await begun.response).on("error", () => undefined);
    await expect.poll(() => seen.length).toBe(2);
    waiting.request.destroy();
    begun.request.destroy();
    await expect.poll(() => seen.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  it("answers 503 with the reason when the browser dies, and breaks off what has begun", async () => {
    const { breakTunnel, listener } = await servePort((request) =>
      request.rawTarget === "/begun"
        ? Promise.resolve({
            status: 200,
            headers: [],
            body: (async function* () {
              yield Buffer.from("begun");
              yield await untilAborted(request);
            })(),
          })
        : untilAborted(request),
    );
    const waiting = ask(listener.port);
    const begun = await open(listener.port, { path: "/begun" }).response;
    const rest = collectBytes(begun);
    rest.catch(() => undefined);
    breakTunnel();
    expect(await waiting).toMatchObject({
      status: 503,
      headers: { "retry-after": "1" },
      text: '{"error":"the connection to the browser is lost: it crashed"}',
    });
    await expect(rest).rejects.toThrow("aborted");
  });

  it("tells the truth about health while there is no browser", async () => {
    const { goAbsent, listener } = await servePort(() => Promise.resolve(okText("live")));
    expect((await ask(listener.port, { path: "/v2/health/live" })).status).toBe(200);
    goAbsent("the browser is being started anew");
    for (const path of ["/v2/health/live", "/v2/health/ready"]) {
      expect(await ask(listener.port, { path })).toMatchObject({ status: 400, text: "" });
    }
    expect(await ask(listener.port, { path: "/v2" })).toMatchObject({
      status: 503,
      text: '{"error":"Server not ready: the browser is being started anew"}',
    });
  });

  it("survives what is no HTTP", async () => {
    const { listener } = await servePort(() => Promise.resolve(okText("fine")));
    const { port } = listener;
    const head = "POST / HTTP/1.1\r\nhost: a\r\n";
    for (const [nonsense, status] of [
      ["\u0000\u0001 nonsense\r\n\r\n", 400],
      [`${head}transfer-encoding: chunked\r\n\r\nzz\r\n`, 400],
      [`${head}x: ${"a".repeat(20_000)}\r\n\r\n`, 431],
    ] as const) {
      const [answer = "", body = ""] = (await sendRaw(port, nonsense)).split("\r\n\r\n");
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${String(status)} `));
      expect(JSON.parse(body)).toEqual({ error: expect.stringMatching(/^malformed HTTP request: ./) });
    }
    expect((await ask(port)).text).toBe("fine");
  });

  it("takes targets as for a proxy, and requests without a host", async () => {
    const { listener } = await servePort(({ rawTarget }) => Promise.resolve(okText(rawTarget)));
    const targetOf = async (target: string): Promise<string | undefined> =>
      (await sendRaw(listener.port, `GET ${target} HTTP/1.1\r\nconnection: close\r\n\r\n`))
        .split("\r\n")
        .find((line) => line.startsWith("/") || line.startsWith("*"));
    expect(await targetOf("http://models.test:8000/v2/models/a?b=http://c")).toBe("/v2/models/a?b=http://c");
    expect(await targetOf("HTTPS://models.test")).toBe("/");
    expect(await targetOf("http://models.test?q")).toBe("/?q");
    expect(await targetOf("/v2/http://a/b")).toBe("/v2/http://a/b");
    expect(await targetOf("*")).toBe("*");
  });

  it("closes after the last exchange, connections kept by clients notwithstanding", async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { listener } = await servePort(async () => {
      await held;
      return okText("late");
    });
    const agent = new Agent({ keepAlive: true });
    const answer = ask(listener.port, { agent });
    await new Promise((resolve) => setTimeout(resolve, 50));
    let isClosed = false;
    const closed = listener.close(new AbortController().signal).then(() => {
      isClosed = true;
    });
    await expect(ask(listener.port)).rejects.toThrow("ECONNREFUSED");
    expect(isClosed).toBe(false);
    release();
    expect((await answer).text).toBe("late");
    await closed;
    agent.destroy();
  });

  it("says which option helps where it is taken", async () => {
    const { listener } = await servePort(() => Promise.resolve(okText("")));
    const taken = { protocol: "http", address: "127.0.0.1", port: listener.port, tls: undefined } as const;
    await expect(
      openListener(
        taken,
        () => ({ kind: "absent", reason: "" }),
        () => undefined,
      ),
    ).rejects.toThrow(
      `failed to start http at 127.0.0.1:${String(listener.port)}: the port is in use; --http-port names another`,
    );
  });
});
