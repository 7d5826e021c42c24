import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent, request as httpRequest } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, RequestOptions } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { request as httpsRequest } from "node:https";
import type { RequestOptions as HttpsOptions } from "node:https";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ArrivingRequest, TunnelHandler } from "@naiad/link/tunnel";
import { createTunnelAnswerer, createTunnelAsker } from "@naiad/link/tunnel";
import type { ExchangeResponse } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { pairedLines } from "@naiad/testing";
import { afterEach, describe, expect, it } from "vitest";
import { accessLogLine } from "./access-log.ts";
import type { HostState } from "./host-source.ts";
import type { Listener, ServedRequest } from "./listener.ts";
import { openListener } from "./listener.ts";
import { TEST_CERTIFICATE, TEST_KEY } from "./test-certificate.ts";
import type { SessionLimits } from "./watch-session.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function collect(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
}

const SESSIONS: SessionLimits = {
  pingAfterMs: 60_000,
  pingTimeoutMs: 60_000,
  pinged: "in use",
  maxAgeMs: undefined,
  maxAgeGraceMs: undefined,
};

/** A real port before a host that is played by `handler`. */
async function serve(
  handler: TunnelHandler,
  protocol: "http" | "grpc" = "http",
  sessions: Partial<SessionLimits> = {},
) {
  const { left, right } = pairedLines();
  const tunnel = createTunnelAsker({ line: left, defer: setImmediate, peer: "the browser" });
  createTunnelAnswerer({
    line: right,
    defer: queueMicrotask,
    handlers: new Map([[protocol, handler]]),
    peer: "the command",
  });
  let state: HostState = { kind: "serving", tunnel };
  const served: ServedRequest[] = [];
  const at = { address: "127.0.0.1", port: 0, tls: undefined };
  const listener: Listener = await openListener(
    protocol === "http" ? { protocol, ...at } : { protocol, ...at, sessions: { ...SESSIONS, ...sessions } },
    () => state,
    (one) => served.push(one),
  );
  ends.push(() => listener.close(AbortSignal.abort()));
  return {
    listener,
    served,
    tunnel,
    breakTunnel: () => {
      left.break("it crashed");
    },
    goAbsent: (reason: string) => {
      state = { kind: "absent", reason };
    },
  };
}

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
  return { status, headers, text: (await collect(response)).toString() };
}

const ok = (text: string): ExchangeResponse => ({
  status: 200,
  headers: [["content-type", "text/plain"]],
  body: new TextEncoder().encode(text),
});

const untilAborted = ({ signal }: ArrivingRequest): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => {
      reject(InferenceError.from(signal.reason));
    });
  });

describe("a port", () => {
  it("hands over requests as they are: raw path, headers in order, body, count of chunks", async () => {
    const { listener, served } = await serve(async ({ body, ended, headers, method, rawTarget }) => {
      const content = (await collect(body)).toString();
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
    const { listener } = await serve(({ body }) => Promise.resolve({ status: 200, headers: [], body }));
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
    const { listener } = await serve(({ rawTarget }) => Promise.resolve(ok(rawTarget)));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const first = await open(listener.port, { agent, path: "/1" }).response;
    const { socket } = first;
    expect((await collect(first)).toString()).toBe("/1");
    const second = await open(listener.port, { agent, path: "/2" }).response;
    expect(second.socket === socket).toBe(true);
    expect((await collect(second)).toString()).toBe("/2");
    agent.destroy();
  });

  it("cancels in the host when the client goes away, before the answer and during it", async () => {
    const seen: AbortSignal[] = [];
    const { listener } = await serve((request) => {
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
    const { breakTunnel, listener } = await serve((request) =>
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
    const rest = collect(begun);
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
    const { goAbsent, listener } = await serve(() => Promise.resolve(ok("live")));
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
    const { listener } = await serve(() => Promise.resolve(ok("fine")));
    const socket = connect(listener.port, "127.0.0.1");
    socket.write("\u0000\u0001 nonsense\r\n\r\n");
    const text = (await collect(socket)).toString();
    expect(text).toMatch(/^HTTP\/1.1 400 Bad Request/);
    expect((await ask(listener.port)).text).toBe("fine");
  });

  it("closes after the last exchange, connections kept by clients notwithstanding", async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { listener } = await serve(async () => {
      await held;
      return ok("late");
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
    const { listener } = await serve(() => Promise.resolve(ok("")));
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

describe("a port with TLS", () => {
  it("serves over it, and asks clients for certificates where it is told to", async () => {
    const folder = await mkdtemp(join(tmpdir(), "naiad-tls-"));
    ends.push(() => rm(folder, { recursive: true }));
    const [certificate, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    await writeFile(certificate, TEST_CERTIFICATE);
    await writeFile(key, TEST_KEY);
    const openTls = async (clientRoots: string | undefined): Promise<Listener> => {
      const listener = await openListener(
        { protocol: "http", address: "127.0.0.1", port: 0, tls: { certificate, key, clientRoots } },
        () => ({ kind: "absent", reason: "in this test" }),
        () => undefined,
      );
      ends.push(() => listener.close(AbortSignal.abort()));
      return listener;
    };
    const get = (port: number, more: HttpsOptions = {}): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const options = { host: "127.0.0.1", port, path: "/v2", agent: false, ca: TEST_CERTIFICATE, ...more };
        const request = httpsRequest(options, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        request.on("error", reject);
        request.end();
      });

    expect(await get((await openTls(undefined)).port)).toBe(503);
    const { port } = await openTls(certificate);
    await expect(get(port)).rejects.toThrow();
    expect(await get(port, { cert: TEST_CERTIFICATE, key: TEST_KEY })).toBe(503);
  });
});

describe("a port of HTTP/2", () => {
  interface Call {
    readonly status: unknown;
    readonly text: string;
    readonly trailers: Readonly<Record<string, unknown>>;
  }

  async function call(port: number, body: string): Promise<Call> {
    const session = connectHttp2(`http://127.0.0.1:${String(port)}`);
    const stream = session.request({ ":method": "POST", ":path": "/inference.X/Y", te: "trailers" });
    let headers: Readonly<Record<string, unknown>> = {};
    let trailers: Readonly<Record<string, unknown>> = {};
    stream.on("response", (received) => {
      headers = { ...received };
    });
    stream.on("trailers", (received) => {
      trailers = { ...received };
    });
    stream.end(body);
    const text = (await collect(stream as AsyncIterable<Uint8Array>)).toString();
    session.close();
    return { status: headers[":status"], text, trailers: { ...headers, ...trailers } };
  }

  it("carries trailers after the body", async () => {
    const { listener } = await serve(
      ({ body, headers, method, rawTarget }) =>
        Promise.resolve({
          status: 200,
          headers: [["content-type", "application/grpc"]],
          body: (async function* () {
            yield await Promise.resolve(Buffer.from(`${method} ${rawTarget} `));
            yield* body;
            yield Buffer.from(JSON.stringify(headers.filter(([name]) => name.startsWith(":"))));
          })(),
          trailers: Promise.resolve([["grpc-status", "0"]] as const),
        }),
      "grpc",
    );
    expect(await call(listener.port, "hello")).toMatchObject({
      status: 200,
      text: "POST /inference.X/Y hello[]",
      trailers: { "content-type": "application/grpc", "grpc-status": "0" },
    });
    await listener.close(new AbortController().signal);
  });

  it("carries trailers without a body, which is how gRPC tells an error", async () => {
    const trailers = Promise.resolve([["grpc-status", "5"]] as const);
    const nothing = (async function* () {
      // A body in pieces that has none.
    })();
    for (const body of [new Uint8Array(0), nothing]) {
      const { listener } = await serve(
        () => Promise.resolve({ status: 200, headers: [], body, trailers }),
        "grpc",
      );
      expect(await call(listener.port, "")).toMatchObject({ text: "", trailers: { "grpc-status": "5" } });
    }
  });

  it("pings a silent client, and ends the connection of one that does not answer", async () => {
    const { listener } = await serve(untilAborted, "grpc", { pingAfterMs: 20, pingTimeoutMs: 20 });
    const session = connectHttp2(`http://127.0.0.1:${String(listener.port)}`);
    let pings = 0;
    session.on("ping", () => (pings += 1));
    await new Promise((resolve) => setTimeout(resolve, 100));
    // Without a call nobody is pinged.
    expect(pings).toBe(0);
    const call = session.request({ ":method": "POST", ":path": "/inference.X/Y" });
    call.on("error", () => undefined);
    await expect.poll(() => pings).toBeGreaterThan(1);
    expect(session.closed).toBe(false);
    session.destroy();

    const all = await serve(untilAborted, "grpc", { pingAfterMs: 20, pingTimeoutMs: 20, pinged: "all" });
    const mute = connect(all.listener.port, "127.0.0.1");
    // The preface and an empty SETTINGS frame, and from then on nothing.
    mute.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    await collect(mute);
  });

  it("has clients connect anew after a while, and their calls end in time", async () => {
    const { listener } = await serve(untilAborted, "grpc", { maxAgeMs: 50, maxAgeGraceMs: 50 });
    const session = connectHttp2(`http://127.0.0.1:${String(listener.port)}`);
    session.on("error", () => undefined);
    const told = new Promise((resolve) => session.once("goaway", resolve));
    const call = session.request({ ":method": "POST", ":path": "/inference.X/Y" });
    call.on("error", () => undefined);
    const ended = new Promise((resolve) => call.once("close", resolve));
    await told;
    expect(call.closed).toBe(false);
    await ended;
  });

  it("takes more than ten megabytes in and out at once", async () => {
    const { listener } = await serve(
      ({ body }) => Promise.resolve({ status: 200, headers: [], body }),
      "grpc",
    );
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => call(listener.port, "x".repeat(8_000_000))),
    );
    expect(answers.map(({ text }) => text.length)).toEqual([8e6, 8e6, 8e6, 8e6]);
  });

  it("has gRPC's status for a browser that is gone", async () => {
    const { goAbsent, listener } = await serve(() => Promise.resolve(ok("")), "grpc");
    goAbsent("it crashed");
    expect(await call(listener.port, "")).toMatchObject({
      status: 200,
      trailers: { "grpc-status": "14", "grpc-message": "Server%20not%20ready%3A%20it%20crashed" },
    });
  });
});

describe("accessLogLine", () => {
  it("is one line whatever stands in the request", () => {
    expect(
      accessLogLine({
        remoteAddress: "::1",
        method: "GET",
        rawTarget: '/a"b\n',
        httpVersion: "1.1",
        status: 200,
        bodyBytes: 7,
        startedMs: Date.UTC(2026, 0, 2),
        durationMs: 1.25,
      }),
    ).toBe('::1 - - [2026-01-02T00:00:00.000Z] "GET /a\\x22b\\x0a HTTP/1.1" 200 7 1.3');
  });
});
