import type { ExchangeResponse } from "@naiad/protocol";
import type { FakeAnswer, FakeStep } from "@naiad/testing";
import { echoModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { createHttpBench } from "../test/http-bench.ts";

const MS = 1e6;
const DECOUPLED = echoModel([1], "model_transaction_policy { decoupled: true }");
const NOT_ONE =
  "generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses";
const GENERATE = "/v2/models/llm/generate";
const STREAM = "/v2/models/llm/generate_stream";
const X = { x: [1] };

const value = (number: number, afterNs = 0): FakeStep => ({ kind: "response", value: number, afterNs });
const END: FakeStep = { kind: "end" };
const ERROR: FakeStep = { kind: "error", error: { code: "INVALID_ARG", message: "no" } };

function startBench(steps: readonly FakeStep[], answer: Partial<FakeAnswer> = {}) {
  return createHttpBench({
    models: { llm: DECOUPLED },
    backend: { onExecute: () => ({ kind: "decoupled", scripts: [steps], ...answer }) as FakeAnswer },
  });
}

const json = (y: number): string => `{"model_name":"llm","model_version":"1","y":${String(y)}}`;
const event = (data: string): string => `data: ${data}\n\n`;

/** The pieces of a body one by one, as text. */
function reader({ body }: ExchangeResponse): AsyncIterator<string> {
  if (body instanceof Uint8Array) throw new Error("the body is whole");
  const pieces = body;
  return (async function* () {
    for await (const piece of pieces) yield new TextDecoder().decode(piece);
  })();
}

describe("generate with a decoupled model", () => {
  it.each<[string, readonly FakeStep[]]>([
    ["a response and the end", [value(7), END]],
    ["a response that is the end", [{ kind: "response", value: 7, final: true }]],
  ])("gives %s as any other model does", async (_name, steps) => {
    const { post } = await startBench(steps);
    const got = await post(GENERATE, X);
    expect([got.status, got.header("content-type"), got.text]).toEqual([200, "application/json", json(7)]);
  });

  it("refuses a model that answers not at all", async () => {
    const { post } = await startBench([END]);
    const got = await post(GENERATE, X);
    expect([got.status, got.text]).toEqual([500, JSON.stringify({ error: NOT_ONE })]);
  });

  it("refuses a model that answers twice with the status of its first response, and stops it", async () => {
    const { post, bench } = await startBench([value(1), value(2), value(3, 3600 * 1000 * MS), END]);
    const got = await post(GENERATE, X);
    expect([got.status, got.text]).toEqual([200, JSON.stringify({ error: NOT_ONE })]);
    expect(bench.clock.nowNs()).toBeLessThan(3600 * 1000 * MS);
    const first = await startBench([ERROR, value(2), END]);
    const failed = await first.post(GENERATE, X);
    expect([failed.status, failed.text]).toEqual([400, JSON.stringify({ error: NOT_ONE })]);
  });

  it("gives the one error that it answers with", async () => {
    const { post } = await startBench([ERROR, END]);
    const got = await post(GENERATE, X);
    expect([got.status, got.text]).toEqual([400, '{"error":"no"}']);
  });

  it("gives the error that the model fails with", async () => {
    const { post } = await startBench([
      value(1),
      { kind: "end", error: { code: "INTERNAL", message: "burnt" } },
    ]);
    const got = await post(GENERATE, X);
    expect([got.status, got.text]).toEqual([500, '{"error":"burnt"}']);
  });
});

describe("infer with a decoupled model", () => {
  it("is refused", async () => {
    const { post } = await startBench([END]);
    const body = { inputs: [{ name: "x", shape: [1, 1], datatype: "INT32", data: [1] }] };
    const got = await post("/v2/models/llm/infer", body);
    expect([got.status, got.error]).toEqual([
      501,
      "HTTP end point doesn't support models with decoupled transaction policy",
    ]);
  });
});

describe("generate_stream with a decoupled model", () => {
  it.each<[string, readonly FakeStep[], number, string]>([
    ["no events", [END], 200, ""],
    ["one event for each response", [value(1), value(2), END], 200, event(json(1)) + event(json(2))],
    [
      "an error in the middle, and goes on",
      [value(1), ERROR, value(3), END],
      200,
      event(json(1)) + event('{"error":"no"}') + event(json(3)),
    ],
    [
      "an error first with its status, and goes on",
      [ERROR, value(2), END],
      400,
      event('{"error":"no"}') + event(json(2)),
    ],
    [
      "the error that the model fails with",
      [value(1), { kind: "end", error: { code: "INTERNAL", message: "burnt" } }],
      200,
      event(json(1)) + event('{"error":"burnt"}'),
    ],
  ])("gives %s", async (_name, steps, status, text) => {
    const { post } = await startBench(steps);
    const got = await post(STREAM, X);
    expect([got.status, got.header("content-type"), got.text]).toEqual([
      status,
      "text/event-stream; charset=utf-8",
      text,
    ]);
  });

  it("gives each event as soon as its response is there", async () => {
    const { exchange, bench } = await startBench([value(1), value(2, 50 * MS), { ...END, afterNs: 50 * MS }]);
    const events = reader(await exchange(STREAM, X));
    expect(await events.next()).toEqual({ done: false, value: event(json(1)) });
    let isThere = false;
    const second = events.next().finally(() => (isThere = true));
    await bench.clock.advance(40 * MS);
    expect(isThere).toBe(false);
    await bench.clock.advance(10 * MS);
    expect(await second).toEqual({ done: false, value: event(json(2)) });
    const end = events.next();
    await bench.clock.advance(50 * MS);
    expect(await end).toMatchObject({ done: true });
  });

  it("holds the model where nobody reads", async () => {
    const steps = Array.from({ length: 100 }, (_, index) => value(index, MS));
    const { exchange, bench } = await startBench([...steps, END]);
    const opening = exchange(STREAM, X);
    await bench.clock.advance(MS);
    const events = reader(await opening);
    await bench.clock.drain();
    const stats = await bench.server.modelStatistics(
      { modelName: "llm", modelVersion: "" },
      { signal: new AbortController().signal },
    );
    expect(Object.keys(stats.model_stats[0]?.response_stats ?? {}).length).toBeLessThan(10);
    let count = 0;
    for (;;) {
      const next = events.next();
      await bench.clock.drain();
      if ((await next).done === true) break;
      count += 1;
    }
    expect(count).toBe(100);
  });

  it.each(["by its signal", "by leaving the loop"])(
    "ends in the model when the reader goes, %s",
    async (how) => {
      const { exchange, bench } = await startBench([value(1), value(2), value(3, 3600 * 1000 * MS), END]);
      const leaving = new AbortController();
      const response = await exchange(STREAM, X, leaving.signal);
      const events = reader(response);
      await events.next();
      const startNs = bench.clock.nowNs();
      if (how === "by its signal") leaving.abort();
      else await events.return?.();
      await bench.clock.drain();
      expect(bench.clock.nowNs()).toBe(startNs);
      const stats = await bench.server.modelStatistics(
        { modelName: "llm", modelVersion: "" },
        { signal: new AbortController().signal },
      );
      expect(stats.model_stats[0]).toMatchObject({
        inference_stats: { fail: { count: 1 } },
        response_stats: { "2": { cancel: { count: 1 } } },
      });
      await bench.unload("llm");
      await bench.finish();
      expect(bench.liveInstances).toBe(0);
    },
  );

  it("tells the loss of the instance as an event", async () => {
    const { exchange, bench } = await startBench([value(1), value(2, 3600 * 1000 * MS), END]);
    const events = reader(await exchange(STREAM, X));
    await events.next();
    bench.backend.lose("llm_0", { reason: "it burnt" });
    const last = await events.next();
    expect(last.value).toMatch(
      /^data: \{"error":"\[request id: <id_unknown>\] instance 'llm_0' .* was lost .*it burnt"\}\n\n$/,
    );
    expect(await events.next()).toMatchObject({ done: true });
  });

  it("says what cannot be written instead of it", async () => {
    const { post } = await createHttpBench({
      models: {
        llm: {
          "config.pbtxt": `backend: "fake" input { name: "x" data_type: TYPE_INT32 dims: [1] }
            output { name: "y" data_type: TYPE_FP16 dims: [1] } model_transaction_policy { decoupled: true }`,
          "1/model.fake": "",
        },
      },
      backend: {
        onExecute: () => ({
          kind: "complete",
          outcomes: [
            {
              kind: "response",
              parameters: {},
              outputs: [{ kind: "bytes", name: "y", datatype: "FP16", shape: [1], bytes: new Uint8Array(2) }],
            },
          ],
        }),
      },
    });
    const got = await post(STREAM, X);
    expect([got.status, got.text]).toEqual([
      400,
      event(
        '{"error":"sending FP16 data via JSON is not supported. Please use the binary data format for output y"}',
      ),
    ]);
  });
});
