import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { collectBytes, okText, servePort, untilAborted } from "../../../../test/served-port.ts";

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
  const text = (await collectBytes(stream as AsyncIterable<Uint8Array>)).toString();
  session.close();
  return { status: headers[":status"], text, trailers: { ...headers, ...trailers } };
}

describe("a port of HTTP/2", () => {
  it("carries trailers after the body", async () => {
    const { listener } = await servePort(
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
      const { listener } = await servePort(
        () => Promise.resolve({ status: 200, headers: [], body, trailers }),
        "grpc",
      );
      expect(await call(listener.port, "")).toMatchObject({ text: "", trailers: { "grpc-status": "5" } });
    }
  });

  it("pings a silent client, and ends the connection of one that does not answer", async () => {
    const { listener } = await servePort(untilAborted, "grpc", { pingAfterMs: 20, pingTimeoutMs: 20 });
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

    const all = await servePort(untilAborted, "grpc", { pingAfterMs: 20, pingTimeoutMs: 20, pinged: "all" });
    const mute = connect(all.listener.port, "127.0.0.1");
    // The preface and an empty SETTINGS frame, and from then on nothing.
    mute.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    await collectBytes(mute);
  });

  it("has clients connect anew after a while, and their calls end in time", async () => {
    const { listener } = await servePort(untilAborted, "grpc", { maxAgeMs: 50, maxAgeGraceMs: 50 });
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
    const { listener } = await servePort(
      ({ body }) => Promise.resolve({ status: 200, headers: [], body }),
      "grpc",
    );
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => call(listener.port, "x".repeat(8_000_000))),
    );
    expect(answers.map(({ text }) => text.length)).toEqual([8e6, 8e6, 8e6, 8e6]);
  });

  it("has gRPC's status for a browser that is gone", async () => {
    const { goAbsent, listener } = await servePort(() => Promise.resolve(okText("")), "grpc");
    goAbsent("it crashed");
    expect(await call(listener.port, "")).toMatchObject({
      status: 200,
      trailers: { "grpc-status": "14", "grpc-message": "Server%20not%20ready%3A%20it%20crashed" },
    });
  });
});
