import { parseTraceConfig, type Trace, type TraceConfig } from "@naiad/protocol";
import type { FakeAnswer, MemoryModel, ServerBench, ServerBenchOptions } from "@naiad/testing";
import {
  ANSWERED_ACTIVITIES,
  createServerBench,
  echoModel,
  echoRequest,
  ensembleModel,
  EXECUTED_ACTIVITIES,
} from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { tritonTraceText } from "./triton-trace-text.ts";

const FOR_EVER = new AbortController().signal;
const MS = 1e6;
/** The fake backend charges these to every execution. */
const TIMES = { computeInputNs: 1, computeInferNs: 10, computeOutputNs: 100 };
const COMPLETE: FakeAnswer = { kind: "complete", latencyNs: MS, times: TIMES };

function trace(...texts: readonly string[]): TraceConfig {
  return parseTraceConfig(["level=TIMESTAMPS", "rate=1", ...texts]);
}

async function start(
  models: Readonly<Record<string, MemoryModel>>,
  bench: Omit<ServerBenchOptions, "models"> = {},
): Promise<ServerBench> {
  const { options, backend, ...more } = bench;
  const server = createServerBench({
    models,
    options: { traceConfig: trace(), ...options, loadModels: ["*"] },
    backend: { onExecute: () => COMPLETE, ...backend },
    ...more,
  });
  await server.start();
  return server;
}

interface TraceObject {
  readonly id: number;
  readonly model_name?: string;
  readonly parent_id?: number;
  readonly timestamps?: readonly { readonly name: string }[];
  readonly activity?: string;
  readonly tensor?: { readonly name: string; readonly data: string };
}

/** What happened, as `<id> <name>`, request by request, in the order of Triton's file. */
function happened(traces: readonly Trace[]): readonly string[] {
  const objects = JSON.parse(tritonTraceText(traces)) as readonly TraceObject[];
  return objects.map(({ id, model_name: model = "", parent_id: parent, timestamps, activity, tensor }) => {
    if (tensor !== undefined) return `${String(id)} ${activity ?? ""} ${tensor.name}=${tensor.data}`;
    const head = parent === undefined ? model : `${model} of ${String(parent)}`;
    return `${String(id)} ${timestamps?.[0]?.name ?? head}`;
  });
}

function of(id: number, names: readonly string[]): readonly string[] {
  return names.map((name) => `${String(id)} ${name}`);
}

describe("the trace of a request", () => {
  it("has the times that the statistics are made of", async () => {
    const bench = await start({ m: echoModel() });
    await bench.clock.advance(5);
    const answer = bench.infer("m", 7, { id: "r" });
    await bench.clock.drain();
    await answer;
    expect(bench.traces).toMatchObject([
      {
        id: 1,
        origin: { ns: 5 },
        requests: [{ id: 1, modelName: "m", modelVersion: 1, requestId: "r" }],
        setting: { logFrequency: 0, completes: false, counted: false },
      },
    ]);
    const times = bench.traces[0]?.activities.map((activity) =>
      activity.kind === "timestamp" ? [activity.name, activity.ns] : [],
    );
    expect(times).toEqual([
      ["REQUEST_START", 5],
      ["QUEUE_START", 5],
      ["COMPUTE_START", 5],
      ["COMPUTE_INPUT_END", 6],
      ["COMPUTE_OUTPUT_START", 16],
      ["COMPUTE_END", 116],
      ["INFER_RESPONSE_COMPLETE", 5 + MS],
      ["REQUEST_END", 5 + MS],
    ]);
  });

  it("is nothing while nothing is traced", async () => {
    const bench = await start({ m: echoModel() }, { options: { traceConfig: parseTraceConfig(["rate=1"]) } });
    const answer = bench.infer("m", 7);
    await bench.clock.drain();
    await answer;
    expect([bench.traces, bench.tracing.nowNs()]).toEqual([[], undefined]);
    expect(bench.tracing.begin({ modelName: "m", headers: [] })).toBeUndefined();
  });

  it("has the tensors too where those are asked for", async () => {
    const bench = await start({ m: echoModel() }, { options: { traceConfig: trace("level=TENSORS") } });
    const answer = bench.infer("m", 7);
    await bench.clock.drain();
    await answer;
    expect(happened(bench.traces)).toEqual([
      "1 m",
      "1 REQUEST_START",
      "1 QUEUE_START",
      "1 TENSOR_QUEUE_INPUT x=7",
      ...of(1, ANSWERED_ACTIVITIES.slice(2, 6)),
      "1 TENSOR_BACKEND_OUTPUT y=7",
      "1 INFER_RESPONSE_COMPLETE",
      "1 REQUEST_END",
    ]);
  });

  it("ends with an error as with an answer, and when it is cancelled", async () => {
    const failure: FakeAnswer = { kind: "fail", error: { code: "INTERNAL", message: "no" } };
    const failing = await start({ m: echoModel() }, { backend: { onExecute: () => failure } });
    const failed = failing.infer("m", 1);
    failed.catch(() => undefined);
    await failing.clock.drain();
    await expect(failed).rejects.toThrow("no");
    expect(happened(failing.traces)).toEqual(["1 m", ...of(1, ANSWERED_ACTIVITIES)]);

    const bench = await start({ m: echoModel() }, { backend: { onExecute: () => COMPLETE } });
    const leaving = new AbortController();
    const running = bench.infer("m", 1);
    const cancelled = bench.infer("m", 2, { signal: leaving.signal });
    cancelled.catch(() => undefined);
    leaving.abort();
    await bench.clock.drain();
    await running;
    await expect(cancelled).rejects.toMatchObject({ code: "CANCELLED" });
    expect(happened(bench.traces.slice(0, 1))).toEqual([
      "2 m",
      ...of(2, ["REQUEST_START", "QUEUE_START", "INFER_RESPONSE_COMPLETE", "REQUEST_END"]),
    ]);
  });

  it("ends where its scheduler refuses it, and does not begin where it does not fit the model", async () => {
    const queue = "dynamic_batching { default_queue_policy { max_queue_size: 1 } }";
    const bench = await start(
      { m: echoModel([1], queue) },
      { backend: { onExecute: () => ({ kind: "hang" }) } },
    );
    const answers = [1, 2, 3, 4, 5].map((value) => bench.infer("m", value));
    const results = Promise.allSettled(answers);
    await bench.clock.settle();
    const refused = await Promise.race(answers.map((answer) => answer.catch((error: unknown) => error)));
    expect(refused).toMatchObject({ code: "UNAVAILABLE" });
    expect(happened(bench.traces)[1]).toMatch(/ REQUEST_START$/);
    expect(happened(bench.traces)[2]).toMatch(/ REQUEST_END$/);
    const before = bench.traces.length;
    await expect(
      bench.server.modelInfer({ ...echoRequest("m", 1), inputs: [] }, { signal: FOR_EVER }),
    ).rejects.toMatchObject({ code: "INVALID_ARG" });
    expect(bench.traces).toHaveLength(before);
    bench.backend.lose("m_0", { culprit: true });
    await bench.clock.settle();
    void results;
  });

  it("has the steps of an ensemble as requests of their own", async () => {
    const steps = ["a: x=IN > y=mid", "b: x=mid > y=OUT"];
    const ensemble = ensembleModel({
      inputs: "IN INT32 [1]",
      outputs: "OUT INT32 [1]",
      maxBatchSize: 4,
      steps,
    });
    const bench = await start({ a: echoModel(), b: echoModel([1], "dynamic_batching {}"), ensemble });
    const inputs = echoRequest("ensemble", 3).inputs.map((input) => ({ ...input, name: "IN" }));
    const answer = bench.server.modelInfer({ ...echoRequest("ensemble", 3), inputs }, { signal: FOR_EVER });
    await bench.clock.drain();
    await answer;
    expect(happened(bench.traces)).toEqual([
      "1 ensemble",
      ...of(1, ["REQUEST_START", "QUEUE_START", "INFER_RESPONSE_COMPLETE", "REQUEST_END"]),
      "2 a of 1",
      ...of(2, [...EXECUTED_ACTIVITIES, "REQUEST_END"]),
      "3 b of 1",
      ...of(3, [...EXECUTED_ACTIVITIES, "REQUEST_END"]),
    ]);
    // A step ends before what it leads to.
    const ends = bench.traces[0]?.activities.filter(({ name }) => name === "REQUEST_END");
    expect(ends?.map(({ id }) => id)).toEqual([2, 3, 1]);
  });

  it("says of an answer of the response cache that it was only queued", async () => {
    const cached = echoModel([1], "response_cache { enable: true }");
    const bench = await start({ m: cached }, { options: { cacheConfig: { kind: "local", byteSize: 1e6 } } });
    for (let round = 0; round < 2; round += 1) {
      const answer = bench.infer("m", 7);
      await bench.clock.drain();
      await answer;
    }
    expect(happened(bench.traces.slice(1))).toEqual([
      "2 m",
      ...of(2, ["REQUEST_START", "QUEUE_START", "INFER_RESPONSE_COMPLETE", "REQUEST_END"]),
    ]);
  });

  it("tells of each response of a decoupled request", async () => {
    const decoupled = echoModel([1], "model_transaction_policy { decoupled: true }");
    const script: FakeAnswer = {
      kind: "decoupled",
      scripts: [[{ kind: "response", value: 1 }, { kind: "response", value: 2 }, { kind: "end" }]],
    };
    const bench = await start({ m: decoupled }, { backend: { onExecute: () => script } });
    const items = await bench.stream("m", 1);
    await bench.clock.drain();
    const finals: unknown[] = [];
    for await (const { final } of items) finals.push(final);
    expect(finals).toHaveLength(2);
    expect(happened(bench.traces)).toEqual([
      "1 m",
      ...of(1, ["REQUEST_START", "QUEUE_START", "INFER_RESPONSE_COMPLETE", "INFER_RESPONSE_COMPLETE"]),
      ...of(1, ["COMPUTE_START", "COMPUTE_INPUT_END", "COMPUTE_OUTPUT_START", "COMPUTE_END", "REQUEST_END"]),
    ]);
  });

  it("has the steps of sequences as any other", async () => {
    const bench = await start({ m: echoModel([1], "sequence_batching { direct {} }") });
    const sequence = { id: 5n, start: true, end: true };
    const answer = bench.server.modelInfer({ ...echoRequest("m", 1), sequence }, { signal: FOR_EVER });
    await bench.clock.drain();
    await answer;
    expect(happened(bench.traces)).toEqual(["1 m", ...of(1, ANSWERED_ACTIVITIES)]);
  });
});

describe("a request that a model makes", () => {
  it("belongs to the trace of the one that it works on, and is traced no other way", async () => {
    const bench = await start({ outer: echoModel(), inner: echoModel() });
    const edge = bench.tracing.begin({ modelName: "outer", headers: [] });
    const outer = bench.server.modelInfer(echoRequest("outer", 1), {
      signal: FOR_EVER,
      trace: { kind: "edge", trace: edge },
    });
    const inner = [1, undefined, 77].map((parentId) =>
      bench.server.modelInfer(echoRequest("inner", 1), {
        signal: FOR_EVER,
        trace: { kind: "inner", parentId },
      }),
    );
    await bench.clock.drain();
    await Promise.all([outer, ...inner]);
    expect(bench.traces).toEqual([]);
    edge?.end();
    expect(happened(bench.traces)).toEqual([
      "1 outer",
      ...of(1, ANSWERED_ACTIVITIES),
      "2 inner of 1",
      ...of(2, [...EXECUTED_ACTIVITIES, "REQUEST_END"]),
    ]);
  });
});

describe("a trace that an end point begins", () => {
  it("is whole when the end point is done too, with what happened there", async () => {
    const bench = await start({ m: echoModel() });
    await bench.clock.advance(5);
    const edge = bench.tracing.begin({ modelName: "m", headers: [] });
    edge?.mark("HTTP_RECV_START", 3);
    const tracing = { kind: "edge", trace: edge } as const;
    const answer = bench.server.modelInfer(echoRequest("m", 1), { signal: FOR_EVER, trace: tracing });
    await bench.clock.drain();
    await answer;
    let isWhole = false;
    void bench.tracing.whole().then(() => (isWhole = true));
    await bench.clock.settle();
    expect([isWhole, bench.traces]).toEqual([false, []]);
    edge?.mark("HTTP_SEND_END");
    edge?.end();
    await bench.clock.settle();
    expect(isWhole).toBe(true);
    expect(happened(bench.traces)).toEqual([
      "1 m",
      ...of(1, ["HTTP_RECV_START", ...ANSWERED_ACTIVITIES, "HTTP_SEND_END"]),
    ]);
  });

  it("says nothing of a model where the request never got to one", async () => {
    const bench = await start({ m: echoModel() });
    const edge = bench.tracing.begin({ modelName: "m", headers: [] });
    edge?.mark("HTTP_RECV_START", 3);
    edge?.end();
    expect(happened(bench.traces)).toEqual(["1 HTTP_RECV_START"]);
    await expect(bench.tracing.whole()).resolves.toBeUndefined();
  });

  it("goes on with the client's own trace in the mode opentelemetry", async () => {
    const traceConfig = trace("mode=opentelemetry", "rate=0", "level=TENSORS");
    const bench = await start({ m: echoModel() }, { options: { traceConfig } });
    const parent = `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01`;
    expect(bench.tracing.begin({ modelName: "m", headers: [] })).toBeUndefined();
    const edge = bench.tracing.begin({
      modelName: "m",
      headers: [
        ["traceparent", parent],
        ["tracestate", "a=b"],
      ],
    });
    const tracing = { kind: "edge", trace: edge } as const;
    const answer = bench.server.modelInfer(echoRequest("m", 1), { signal: FOR_EVER, trace: tracing });
    await bench.clock.drain();
    await answer;
    edge?.end();
    expect(bench.traces).toMatchObject([
      { parent: { traceId: "ab".repeat(16), spanId: "cd".repeat(8), flags: 1, state: "a=b" } },
    ]);
    // Spans have no place for tensors.
    expect(bench.traces[0]?.activities.some(({ kind }) => kind === "tensor")).toBe(false);
  });
});

describe("the last of a setting's count", () => {
  it("says that the setting has all its traces", async () => {
    const bench = await start(
      { m: echoModel() },
      { options: { traceConfig: trace("count=2", "log-frequency=9") } },
    );
    const answers = [1, 2, 3].map((value) => bench.infer("m", value));
    await bench.clock.drain();
    await Promise.all(answers);
    expect(bench.traces.map(({ setting }) => setting)).toMatchObject([
      { completes: false, counted: true, logFrequency: 9 },
      { completes: true, counted: true, logFrequency: 9 },
    ]);
  });
});
