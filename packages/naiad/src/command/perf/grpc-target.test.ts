import { createServer } from "node:http2";
import type { Http2Server, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { gunzipSync, inflateSync } from "node:zlib";
import { createGrpcHandler } from "@naiad/grpc";
import type { InferenceRequest, StreamingExchangeHandler } from "@naiad/protocol";
import { createServerBench, echoModel } from "@naiad/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CommandTarget } from "./command-target.ts";
import { createGrpcTarget } from "./grpc-target.ts";
import { DEFAULT_TLS } from "./tls-options.ts";

const PLAIN = { tls: DEFAULT_TLS, headers: {}, streaming: false, compression: "none" } as const;

const sessions = new Set<ServerHttp2Session>();
let server: Http2Server;
let target: CommandTarget;
let url: string;
let streamCount = 0;
let traceRate: () => Promise<string>;

beforeEach(async () => {
  const bench = createServerBench({
    models: { m: echoModel(), d: echoModel([1], "model_transaction_policy { decoupled: true }") },
  });
  await bench.start();
  await bench.load("m");
  await bench.load("d");
  traceRate = async () =>
    (await bench.server.traceSetting({ modelName: "" }, { signal: FOR_EVER })).trace_rate;
  const handler = createGrpcHandler({
    handlers: bench.server,
    compression: {
      compress: (_, bytes) => Promise.resolve(bytes),
      decompress: (encoding, bytes) =>
        Promise.resolve(encoding === "gzip" ? gunzipSync(bytes) : inflateSync(bytes)),
    },
  });
  server = createServer();
  server.on("session", (session) => sessions.add(session));
  server.on("stream", (stream, headers) => {
    streamCount += 1;
    void respond(handler, stream, headers).then(() => bench.clock.settle());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  target = createGrpcTarget({ ...PLAIN, url });
});
afterEach(async () => {
  target.close();
  for (const session of sessions) session.destroy();
  sessions.clear();
  await new Promise((resolve) => server.close(resolve));
});

async function respond(
  handler: StreamingExchangeHandler,
  stream: ServerHttp2Stream,
  headers: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { signal } = new AbortController();
  const answer = await handler({
    method: "POST",
    rawTarget: String(headers[":path"]),
    headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
    body: stream,
    signal,
  });
  stream.respond(
    { ":status": answer.status, ...Object.fromEntries(answer.headers) },
    { waitForTrailers: answer.trailers !== undefined },
  );
  stream.on("wantTrailers", () => {
    void answer.trailers?.then((trailers) => {
      stream.sendTrailers(Object.fromEntries(trailers));
    });
  });
  if (answer.body instanceof Uint8Array) stream.end(answer.body);
  else {
    for await (const piece of answer.body) stream.write(piece);
    stream.end();
  }
}

function request(modelName: string): InferenceRequest {
  const bytes = new Uint8Array(Int32Array.of(7).buffer);
  const x = { kind: "bytes", name: "x", datatype: "INT32", shape: [1, 1], bytes } as const;
  return { modelName, modelVersion: "", id: "", parameters: { a: 1n, b: "c" }, inputs: [x], outputs: [] };
}

const FOR_EVER = new AbortController().signal;

describe("the gRPC target", () => {
  it("tells of models as HTTP does", async () => {
    expect(await target.modelMetadata("m", "")).toMatchObject({
      name: "m",
      inputs: [{ name: "x", shape: [-1, 1] }],
    });
    expect(await target.modelConfig("m", "")).toMatchObject({
      name: "m",
      max_batch_size: 4,
      input: [{ name: "x" }],
    });
    expect(await target.modelStatistics("m")).toMatchObject({
      model_stats: [{ name: "m", inference_count: 0, inference_stats: { success: { count: 0 } } }],
    });
  });

  it("sends a request any number of times, and has its phases", async () => {
    const one = request("m");
    for (let n = 0; n < 3; n += 1) {
      const { responses, sendNs, receiveNs } = await target.infer(one, FOR_EVER);
      expect(responses).toBe(1);
      expect(sendNs).toBeGreaterThanOrEqual(0);
      expect(receiveNs).toBeGreaterThanOrEqual(0);
    }
    expect(await target.modelStatistics("m")).toMatchObject({ model_stats: [{ inference_count: 3 }] });
  });

  it("has the outputs for who asks, over streams too, and takes compressed requests", async () => {
    for (const options of [
      { streaming: false, compression: "gzip" },
      { streaming: true, compression: "deflate" },
    ] as const) {
      const one = createGrpcTarget({ ...PLAIN, url, ...options });
      const { outputs } = await one.infer(request("m"), FOR_EVER);
      const [output] = outputs();
      expect(output).toMatchObject({ name: "y", datatype: "INT32", shape: [1, 1] });
      expect(output?.kind === "bytes" && [...output.bytes]).toEqual([7, 0, 0, 0]);
      one.close();
    }
  });

  it("keeps streams open for the next request, and has the moment of each response", async () => {
    await target.modelConfig("d", "");
    const before = streamCount;
    for (let n = 0; n < 3; n += 1) {
      const { responseNs, responses } = await target.infer(request("d"), FOR_EVER);
      expect(responses).toBe(1);
      expect(responseNs).toHaveLength(1);
    }
    expect(streamCount - before).toBe(1);
    await Promise.all([target.infer(request("d"), FOR_EVER), target.infer(request("d"), FOR_EVER)]);
    expect(streamCount - before).toBe(2);
  });

  it("sets traces at the server", async () => {
    await target.setTrace({ trace_rate: "7", log_frequency: null });
    expect(await traceRate()).toBe("7");
  });

  it("goes the way of streams for decoupled models, and where it is told to", async () => {
    await target.modelConfig("d", "");
    expect(await target.infer(request("d"), FOR_EVER)).toMatchObject({ responses: 1 });
    const streaming = createGrpcTarget({ ...PLAIN, url, streaming: true });
    expect(await streaming.infer(request("m"), FOR_EVER)).toMatchObject({ responses: 1 });
    await expect(streaming.infer(request("none"), FOR_EVER)).rejects.toThrow("unknown model: 'none'");
    streaming.close();
  });

  it("rejects with the server's status, without a server, and after an abort", async () => {
    await expect(target.infer(request("none"), FOR_EVER)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(target.modelMetadata("none", "")).rejects.toThrow("'none'");
    await expect(target.infer(request("m"), AbortSignal.abort(new Error("stopped")))).rejects.toThrow(
      "stopped",
    );
    const nowhere = createGrpcTarget({ ...PLAIN, url: "http://127.0.0.1:1" });
    await expect(nowhere.modelMetadata("m", "")).rejects.toMatchObject({ code: "UNAVAILABLE" });
    nowhere.close();
  });
});
