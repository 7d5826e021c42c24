import { createServer } from "node:http2";
import type { Http2Server, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { createGrpcHandler } from "@naiad/grpc";
import type { InferenceRequest, StreamingExchangeHandler } from "@naiad/protocol";
import { createServerBench, echoModel } from "@naiad/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { GrpcTarget } from "./grpc-target.ts";
import { createGrpcTarget } from "./grpc-target.ts";

const sessions = new Set<ServerHttp2Session>();
let server: Http2Server;
let target: GrpcTarget;
let url: string;

beforeEach(async () => {
  const bench = createServerBench({
    models: { m: echoModel(), d: echoModel([1], "model_transaction_policy { decoupled: true }") },
  });
  await bench.start();
  await bench.load("m");
  await bench.load("d");
  const handler = createGrpcHandler({ handlers: bench.server });
  server = createServer();
  server.on("session", (session) => sessions.add(session));
  server.on("stream", (stream, headers) => {
    void respond(handler, stream, headers).then(() => bench.clock.settle());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  target = createGrpcTarget({ url, headers: {}, streaming: false });
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

  it("goes the way of streams for decoupled models, and where it is told to", async () => {
    await target.modelConfig("d", "");
    expect(await target.infer(request("d"), FOR_EVER)).toMatchObject({ responses: 1 });
    const streaming = createGrpcTarget({ url, headers: {}, streaming: true });
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
    const nowhere = createGrpcTarget({ url: "http://127.0.0.1:1", headers: {}, streaming: false });
    await expect(nowhere.modelMetadata("m", "")).rejects.toMatchObject({ code: "UNAVAILABLE" });
    nowhere.close();
  });
});
