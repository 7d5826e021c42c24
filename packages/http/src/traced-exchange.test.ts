import { parseTraceConfig } from "@naiad/protocol";
import type { FakeAnswer } from "@naiad/testing";
import { activityNames, ANSWERED_ACTIVITIES, echoModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import type { HttpBench, HttpBenchOptions } from "../test/http-bench.ts";
import { createHttpBench, readAnswer } from "../test/http-bench.ts";

const INFER = "/v2/models/m/infer";
const REQUEST = { id: "r", inputs: [{ name: "x", datatype: "INT32", shape: [1, 1], data: [7] }] };

function start(options: Partial<HttpBenchOptions> = {}): Promise<HttpBench> {
  return createHttpBench({
    models: { m: echoModel(), decoupled: echoModel([1], "model_transaction_policy { decoupled: true }") },
    ...options,
    options: { traceConfig: parseTraceConfig(["level=TIMESTAMPS", "rate=1"]), ...options.options },
  });
}

const RECEIVED = ["HTTP_RECV_START", "HTTP_RECV_END"];
const SENT = ["HTTP_SEND_START", "HTTP_SEND_END"];

describe("the trace of a request over HTTP", () => {
  it("has when it came and when its response left", async () => {
    const http = await start();
    expect((await http.post(INFER, REQUEST)).status).toBe(200);
    expect(activityNames(http.bench.traces)).toEqual([[...RECEIVED, ...ANSWERED_ACTIVITIES, ...SENT]]);
    expect(http.bench.traces).toMatchObject([{ requests: [{ modelName: "m", requestId: "r" }] }]);
  });

  it("has that also where the request was refused before it was one", async () => {
    const http = await start();
    expect((await http.post(INFER, "{")).status).toBe(500);
    expect((await http.post(INFER, { inputs: [] })).status).toBe(400);
    const refused = [...RECEIVED, ...SENT];
    expect(activityNames(http.bench.traces)).toEqual([refused, refused]);
  });

  it("has when its error left", async () => {
    const failure: FakeAnswer = { kind: "fail", error: { code: "INTERNAL", message: "no" } };
    const http = await start({ backend: { onExecute: () => failure } });
    expect((await http.post(INFER, REQUEST)).status).toBe(500);
    expect(activityNames(http.bench.traces)).toEqual([[...RECEIVED, ...ANSWERED_ACTIVITIES, ...SENT]]);
  });

  it("is not one of those that are counted where no such model is served", async () => {
    const http = await start();
    const settings = "/v2/trace/setting";
    await http.post(settings, { trace_count: "1" });
    expect((await http.post("/v2/models/nobody/infer", REQUEST)).status).toBe(404);
    expect((await http.get(settings)).json).toMatchObject({ trace_count: "1" });
    expect(http.bench.traces).toEqual([]);
  });

  it("is one of as many as the settings of its model say", async () => {
    const http = await start();
    expect(
      (await http.post("/v2/models/m/trace/setting", { trace_rate: "2", trace_count: "1" })).status,
    ).toBe(200);
    for (let round = 0; round < 5; round += 1) await http.post(INFER, REQUEST);
    expect(http.bench.traces).toHaveLength(1);
    expect((await http.get("/v2/models/m/trace/setting")).json).toMatchObject({ trace_count: "0" });
  });

  it("lasts until the last event of a stream has left, or its reader", async () => {
    const script: FakeAnswer = {
      kind: "decoupled",
      scripts: [[{ kind: "response", value: 1 }, { kind: "response", value: 2 }, { kind: "end" }]],
    };
    const http = await start({ backend: { onExecute: () => script } });
    const target = "/v2/models/decoupled/generate_stream";
    const body = { x: 1 };
    const whole = http.exchange(target, body);
    await http.bench.finish();
    const answer = await whole;
    await http.bench.finish();
    expect(http.bench.traces).toEqual([]);
    expect((await readAnswer(answer)).text.match(/data: /g)).toHaveLength(2);
    expect(activityNames(http.bench.traces)[0]?.slice(-1)).toEqual(["HTTP_SEND_END"]);
    expect(
      activityNames(http.bench.traces)[0]?.filter((name) => name === "INFER_RESPONSE_COMPLETE"),
    ).toHaveLength(2);

    const left = http.exchange(target, body);
    await http.bench.finish();
    const { body: events } = await left;
    if (events instanceof Uint8Array) throw new Error("no events");
    await events[Symbol.asyncIterator]().return?.();
    await http.bench.finish();
    expect(http.bench.traces).toHaveLength(2);
  });

  it("goes on with the client's own", async () => {
    const traceConfig = parseTraceConfig(["level=TIMESTAMPS", "rate=0", "mode=opentelemetry"]);
    const http = await start({ options: { traceConfig } });
    const traceparent = `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01`;
    await http.post(INFER, REQUEST);
    await http.post(INFER, REQUEST, [["traceparent", traceparent]]);
    expect(http.bench.traces).toMatchObject([{ parent: { traceId: "ab".repeat(16) } }]);
  });
});
