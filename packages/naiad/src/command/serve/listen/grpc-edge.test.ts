import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  IncomingHttpHeaders,
  IncomingHttpStatusHeader,
  OutgoingHttpHeaders,
} from "node:http2";
import { connect, constants } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import type { GrpcOptions } from "@naiad/grpc";
import { createGrpcHandler, ModelInferRequestSchema } from "@naiad/grpc";
import { EchoServer } from "@naiad/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { servePort } from "../../../../test/served-port.ts";
import type { Listener } from "./listener.ts";

/** What clients of gRPC do to a port that no well-behaved library would: every call must have its end, and soon. */

interface Edge {
  readonly server: EchoServer;
  readonly listener: Listener;
  readonly session: ClientHttp2Session;
}

/** The real handler behind a real port, and one connection to it. */
async function serve(options: Partial<GrpcOptions> = {}): Promise<Edge> {
  const server = new EchoServer();
  const { listener } = await servePort(createGrpcHandler({ handlers: server, ...options }), "grpc");
  const session = connect(`http://127.0.0.1:${String(listener.port)}`);
  onTestFinished(() => {
    session.destroy();
  });
  return { server, listener, session };
}

interface Answer {
  readonly http: number | undefined;
  readonly status: string | undefined;
  readonly message: string;
  /** Where the status stood. */
  readonly told: "in the head" | "in trailers" | "nowhere";
  readonly bodyLength: number;
  readonly headers: IncomingHttpHeaders;
}

const SERVICE = "/inference.GRPCInferenceService/";

interface Call {
  readonly stream: ClientHttp2Stream;
  readonly answer: Promise<Answer>;
}

function open(session: ClientHttp2Session, method: string, headers: OutgoingHttpHeaders = {}): Call {
  const stream = session.request({
    ":method": "POST",
    ":path": method.startsWith("/") ? method : SERVICE + method,
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  });
  const answer = new Promise<Answer>((resolve, reject) => {
    let head: IncomingHttpHeaders & IncomingHttpStatusHeader = {};
    let trailers: IncomingHttpHeaders = {};
    let bodyLength = 0;
    stream.on("response", (received) => (head = received));
    stream.on("trailers", (received: IncomingHttpHeaders) => (trailers = received));
    stream.on("data", (piece: Buffer) => (bodyLength += piece.length));
    stream.on("error", reject);
    stream.on("close", () => {
      const told =
        "grpc-status" in head ? "in the head" : "grpc-status" in trailers ? "in trailers" : "nowhere";
      const all = { ...head, ...trailers };
      resolve({
        http: head[":status"],
        status: all["grpc-status"]?.toString(),
        message: decodeURIComponent(all["grpc-message"]?.toString() ?? ""),
        told,
        bodyLength,
        headers: all,
      });
    });
  });
  answer.catch(() => undefined);
  return { stream, answer };
}

function call(
  session: ClientHttp2Session,
  method: string,
  body: Uint8Array,
  headers?: OutgoingHttpHeaders,
): Promise<Answer> {
  const { stream, answer } = open(session, method, headers);
  stream.end(body);
  return answer;
}

/** A message as gRPC frames it. */
function framed(message: Uint8Array): Uint8Array {
  const frame = new Uint8Array(5 + message.length);
  new DataView(frame.buffer).setUint32(1, message.length);
  frame.set(message, 5);
  return frame;
}

function inferFrame(id = "", byteLength = 4): Uint8Array {
  return framed(
    toBinary(
      ModelInferRequestSchema,
      create(ModelInferRequestSchema, {
        modelName: "echo",
        id,
        inputs: [{ name: "X", datatype: "UINT8", shape: [BigInt(byteLength)] }],
        rawInputContents: [new Uint8Array(byteLength)],
      }),
    ),
  );
}

const EMPTY = framed(new Uint8Array(0));

describe("the port of gRPC", () => {
  it("answers with a body and trailers, an error with a head alone", async () => {
    const { session } = await serve();
    expect(await call(session, "ServerLive", EMPTY)).toMatchObject({
      http: 200,
      status: "0",
      told: "in trailers",
      bodyLength: 7,
    });
    expect(await call(session, "ModelReady", EMPTY)).toMatchObject({
      http: 200,
      status: "5",
      message: "Request for unknown model: '' is not found",
      told: "in the head",
      bodyLength: 0,
    });
  });

  it.each([
    ["a method", `${SERVICE}Nothing`],
    ["a service", "/other.Service/ServerLive"],
    ["a path", "/v2/health/live"],
  ])("does not implement %s that there is not", async (_what, path) => {
    const { session } = await serve();
    expect(await call(session, path, EMPTY)).toMatchObject({
      http: 200,
      status: "12",
      message: `unknown method ${path}`,
    });
  });

  it("says by HTTP what is no gRPC", async () => {
    const { session } = await serve();
    expect(await call(session, "ServerLive", EMPTY, { "content-type": "text/plain" })).toMatchObject({
      http: 415,
    });
    expect(await call(session, "ServerLive", EMPTY, { ":method": "PUT" })).toMatchObject({ http: 405 });
  });

  it.each([
    ["an unknown frame", Uint8Array.of(9, 0, 0, 0, 0), {}, "13", "Bad GRPC frame type 0x09"],
    ["half a frame", EMPTY.subarray(0, 3), {}, "3", "protocol error: incomplete envelope"],
    ["no message", new Uint8Array(0), {}, "12", "protocol error: missing input message for unary method"],
    ["no Protocol Buffers", framed(Uint8Array.of(255)), {}, "13", "parse binary: premature EOF"],
    [
      "an unknown compression",
      EMPTY,
      { "grpc-encoding": "zstd" },
      "12",
      'unknown compression "zstd": supported encodings are ',
    ],
    [
      "no time as a deadline",
      EMPTY,
      { "grpc-timeout": "x" },
      "3",
      "protocol error: invalid grpc timeout value: x",
    ],
    ["a deadline that has passed", EMPTY, { "grpc-timeout": "0n" }, "4", "Deadline Exceeded"],
  ])("ends a call with %s", async (_what, body, headers, status, message) => {
    const { session } = await serve();
    for (const method of ["ModelMetadata", "ModelStreamInfer"]) {
      if (method === "ModelStreamInfer" && body.length === 0) continue;
      expect(await call(session, method, body, headers)).toMatchObject({ http: 200, status, message });
    }
  });

  it("refuses a message beyond the limit at its head, however much of it is to come, and serves on", async () => {
    const { session } = await serve({ maxMessageSize: 1000 });
    const large = new Uint8Array(5_000_000);
    new DataView(large.buffer).setUint32(1, large.length - 5);
    expect(await call(session, "ModelInfer", large)).toMatchObject({
      status: "8",
      message: "Received message larger than max (4999995 vs. 1000)",
    });
    const { stream, answer } = open(session, "ModelInfer");
    stream.write(large.subarray(0, 10));
    expect((await answer).status).toBe("8");
    expect((await call(session, "ModelInfer", inferFrame())).status).toBe("0");
  });

  it("takes any bytes for the value of a header", async () => {
    const { server, session } = await serve({ headerForwardPattern: "^x-" });
    expect((await call(session, "ModelInfer", inferFrame(), { "x-name": "\u00ff\u00e9" })).status).toBe("0");
    expect(server.lastInput()).toMatchObject({ parameters: { "x-name": "\u00ff\u00e9" } });
  });

  it("waits for a client that is slow with its message, as long as its deadline lets it", async () => {
    const { session } = await serve();
    const frame = inferFrame();
    const slow = open(session, "ModelInfer");
    slow.stream.write(frame.subarray(0, 7));
    const late = open(session, "ModelInfer", { "grpc-timeout": "50m" });
    late.stream.write(frame.subarray(0, 7));
    expect(await late.answer).toMatchObject({ status: "4", message: "Deadline Exceeded" });
    slow.stream.end(frame.subarray(7));
    expect((await slow.answer).status).toBe("0");
  });

  it("hears of a call that is given up, before its message is whole and while it is answered", async () => {
    const { server, session } = await serve();
    const half = open(session, "ModelInfer");
    half.stream.write(inferFrame().subarray(0, 7));
    half.stream.close(constants.NGHTTP2_CANCEL);
    await half.answer;
    server.gate = new Promise(() => undefined);
    const whole = open(session, "ModelInfer");
    whole.stream.end(inferFrame());
    await expect.poll(() => server.signals.length).toBe(1);
    whole.stream.close(constants.NGHTTP2_CANCEL);
    await expect.poll(() => server.signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it("answers a thousand calls at once on one connection", async () => {
    const { server, session } = await serve();
    let release: (value: undefined) => void = () => undefined;
    server.gate = new Promise<undefined>((resolve) => (release = resolve)).then(() => undefined);
    const calls = Array.from({ length: 1000 }, (_, at) =>
      call(session, "ModelInfer", inferFrame(String(at))),
    );
    await expect.poll(() => server.signals.length, { timeout: 20_000 }).toBe(1000);
    release(undefined);
    const statuses = new Set((await Promise.all(calls)).map(({ status }) => status));
    expect([...statuses]).toEqual(["0"]);
  });

  it("tells its connections that it ends, and answers what has begun", async () => {
    const { listener, server, session } = await serve();
    let release: (value: undefined) => void = () => undefined;
    server.gate = new Promise<undefined>((resolve) => (release = resolve)).then(() => undefined);
    const told = new Promise((resolve) => session.once("goaway", resolve));
    const begun = call(session, "ModelInfer", inferFrame());
    await expect.poll(() => server.signals.length).toBe(1);
    const closed = listener.close(new AbortController().signal);
    await told;
    release(undefined);
    expect((await begun).status).toBe("0");
    await closed;
  });

  it("lets a stream end where its client only listens on", async () => {
    const { session } = await serve();
    const { stream, answer } = open(session, "ModelStreamInfer", { triton_grpc_error: "true" });
    const pieces: Buffer[] = [];
    stream.on("data", (piece: Buffer) => pieces.push(piece));
    stream.write(inferFrame("1"));
    await expect.poll(() => pieces.length).toBeGreaterThan(0);
    // Nothing is wrong with the first, and the second is no frame: the client has not ended its side.
    stream.write(Uint8Array.of(9, 0, 0, 0, 0));
    expect(await answer).toMatchObject({ status: "13", told: "in trailers" });
  });
});
