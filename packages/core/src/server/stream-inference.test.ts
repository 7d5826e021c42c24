import type { InferenceStreamResponse } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { FakeAnswer, FakeStep, ServerBench } from "@naiad/testing";
import { createServerBench, echoedValue, echoModel, echoRequest } from "@naiad/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readAll } from "../../test/read-all.ts";

const MS = 1e6;
const END: FakeStep = { kind: "end" };
const value = (number: number, afterNs = 0): FakeStep => ({ kind: "response", value: number, afterNs });
const live = new AbortController().signal;

async function start(
  steps: readonly FakeStep[] | (() => FakeAnswer),
  config = "model_transaction_policy { decoupled: true }",
): Promise<ServerBench> {
  const bench = createServerBench({
    models: { m: echoModel([1], config) },
    backend: {
      onExecute: () => (typeof steps === "function" ? steps() : { kind: "decoupled", scripts: [steps] }),
    },
  });
  await bench.start();
  await bench.load("m");
  return bench;
}

async function statistics(bench: ServerBench) {
  const { model_stats } = await bench.server.modelStatistics(
    { modelName: "m", modelVersion: "" },
    { signal: live },
  );
  return model_stats[0];
}

describe("modelStreamInfer", () => {
  it("gives all responses of a decoupled model, each as infer gives its one", async () => {
    const bench = await start([value(7), value(8), END]);
    const responses: InferenceStreamResponse[] = [];
    for await (const response of await bench.stream("m", 1, { id: "9" })) responses.push(response);
    expect(responses.map(echoedValue)).toEqual([7, 8]);
    expect(responses[0]).toMatchObject({ modelName: "m", modelVersion: "1", id: "9", parameters: {} });
  });

  it("gives the one response of any other model", async () => {
    const bench = await start(() => ({ kind: "complete" }), "");
    expect(await readAll(await bench.stream("m", 5))).toEqual([5]);
    expect((await statistics(bench))?.response_stats).toEqual({});
  });

  it("gives an error of one response among the others, and the failure of the request at the end", async () => {
    const error = { code: "INVALID_ARG", message: "no" } as const;
    const bench = await start([{ kind: "error", error }, value(2), { kind: "end", error }]);
    expect(await readAll(await bench.stream("m", 1))).toEqual(["INVALID_ARG", 2, "INVALID_ARG no"]);
  });

  it("rejects with what the request is refused with", async () => {
    const bench = await start([END]);
    await expect(bench.stream("nobody", 1)).rejects.toMatchObject({ code: "NOT_FOUND" });
    const empty = { ...echoRequest("m", 1), inputs: [] };
    await expect(bench.server.modelStreamInfer(empty, { signal: live })).rejects.toMatchObject({
      code: "INVALID_ARG",
    });
    await expect(bench.stream("m", 1, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "CANCELLED",
    });
  });

  it("gives classes where they are asked for, in each response", async () => {
    const bench = await start([value(3), value(4), END]);
    const responses = await bench.server.modelStreamInfer(
      { ...echoRequest("m", 1), outputs: [{ name: "y", classCount: 1 }] },
      { signal: live },
    );
    const datatypes: unknown[] = [];
    for await (const { outputs } of responses) datatypes.push(outputs[0]?.datatype);
    expect(datatypes).toEqual(["BYTES", "BYTES"]);
  });

  it("gives nothing more after an abort, not even what was there", async () => {
    const bench = await start([value(1), value(2), value(3, MS), END]);
    const aborting = new AbortController();
    const responses = await bench.stream("m", 1, { signal: aborting.signal });
    await bench.clock.settle();
    aborting.abort();
    expect(await readAll(responses)).toEqual(["CANCELLED [request id: <id_unknown>] request was cancelled"]);
  });

  it("holds the model while a reader is slow, and the byte budget until the end", async () => {
    const bench = await start([...Array.from({ length: 20 }, (_, index) => value(index)), END]);
    const responses = await bench.stream("m", 1);
    await bench.finish();
    expect(Object.keys((await statistics(bench))?.response_stats ?? {})).toHaveLength(4);
    const metrics = async (): Promise<string> =>
      (await bench.server.serverMetrics({}, { signal: live })).text;
    const before = await metrics();
    expect(await readAll(responses)).toEqual(Array.from({ length: 20 }, (_, index) => index));
    // Four bytes of input, and what every request counts besides.
    expect(before).toMatch(/inflight[^\n]* 4100\n/);
    expect(await metrics()).toMatch(/inflight[^\n]* 0\n/);
  });

  it("is waited for when the model is unloaded", async () => {
    const bench = await start([value(1), value(2, 50 * MS), END]);
    const responses = readAll(await bench.stream("m", 1));
    await bench.clock.advance(MS);
    await bench.unload("m");
    await bench.clock.advance(MS);
    expect(bench.liveInstances).toBe(1);
    await expect(bench.stream("m", 1)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await bench.finish();
    expect(await responses).toEqual([1, 2]);
    expect(bench.liveInstances).toBe(0);
  });

  it("observes the time to the first response", async () => {
    const bench = createServerBench({
      models: { m: echoModel([1], "model_transaction_policy { decoupled: true }") },
      options: {
        metricsConfig: {
          counterLatencies: true,
          histogramLatencies: true,
          summaryLatencies: false,
          summaryQuantiles: [],
        },
      },
      backend: {
        onExecute: () => ({ kind: "decoupled", scripts: [[value(1, 150 * MS), value(2, 900 * MS), END]] }),
      },
    });
    await bench.start();
    await bench.load("m");
    const responses = readAll(await bench.stream("m", 1));
    await bench.finish();
    await responses;
    const { text } = await bench.server.serverMetrics({}, { signal: live });
    expect(text).toContain('nv_inference_first_response_histogram_ms_count{model="m",version="1"} 1\n');
    expect(text).toContain('nv_inference_first_response_histogram_ms_sum{model="m",version="1"} 150\n');
  });
});

describe("streamed requests, whatever happens", () => {
  const script = fc.array(
    fc.record({
      afterNs: fc.integer({ min: 0, max: 5 }),
      kind: fc.constantFrom("response", "response", "response", "error"),
    }),
    { maxLength: 12 },
  );
  const scheduler = fc.constantFrom(
    "",
    "dynamic_batching {}",
    "dynamic_batching { preserve_ordering: true }",
  );
  const request = fc.record({
    atNs: fc.integer({ min: 0, max: 40 }),
    script,
    /** When the reader leaves; never if absent. */
    leavesAfterNs: fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined, freq: 4 }),
    readsEveryNs: fc.integer({ min: 0, max: 4 }),
  });
  const losses = fc.array(fc.integer({ min: 1, max: 120 }), { maxLength: 2 });

  it("lose nothing, repeat nothing, keep their order, and all of them end", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { minLength: 1, maxLength: 8 }),
        losses,
        scheduler,
        async (requests, lossesAtNs, config) => {
          let waiting: { readonly steps: readonly FakeStep[] }[] = [];
          const bench = createServerBench({
            models: {
              m: echoModel(
                [1],
                `model_transaction_policy { decoupled: true } ${config} instance_group { kind: KIND_CPU count: 2 }`,
              ),
            },
            backend: {
              latencyNs: 3,
              onExecute: ({ requestIds }) => ({
                kind: "decoupled",
                scripts: requestIds.map((id) => waiting[Number(id)]?.steps ?? []),
              }),
            },
          });
          waiting = requests.map(({ script: steps }) => ({
            steps: [
              ...steps.map(({ afterNs, kind }, index): FakeStep =>
                kind === "response"
                  ? value(index, afterNs)
                  : { kind: "error", afterNs, error: { code: "INTERNAL", message: String(index) } },
              ),
              END,
            ],
          }));
          await bench.start();
          await bench.load("m");
          const { clock } = bench;
          for (const atNs of lossesAtNs) clock.after(atNs, () => bench.backend.lose("m_0"));

          const seen = requests.map(async ({ atNs, leavesAfterNs, readsEveryNs }, index) => {
            await sleep(atNs);
            const leaving = new AbortController();
            if (leavesAfterNs !== undefined) clock.after(leavesAfterNs, () => leaving.abort());
            const read: unknown[] = [];
            let ending = "end";
            try {
              const responses = await bench.stream("m", index, {
                id: String(index),
                signal: leaving.signal,
              });
              for await (const response of responses) {
                read.push(
                  response.error === undefined ? echoedValue(response) : Number(response.error.message),
                );
                await sleep(readsEveryNs);
              }
            } catch (thrown) {
              ending = InferenceError.from(thrown).code;
            }
            return { read, ending };
          });
          function sleep(durationNs: number): Promise<void> {
            return new Promise((resolve) => void clock.after(durationNs, resolve));
          }
          await bench.finish();
          const results = await Promise.all(seen);
          for (const [index, { read, ending }] of results.entries()) {
            const { script: steps = [], leavesAfterNs } = requests[index] ?? {};
            expect(read).toEqual(steps.slice(0, read.length).map((_, step) => step));
            if (ending === "end") expect(read).toHaveLength(steps.length);
            else if (ending === "CANCELLED") expect(leavesAfterNs).toBeDefined();
            else expect([ending, lossesAtNs.length > 0]).toEqual(["UNAVAILABLE", true]);
          }
          await bench.unload("m");
          await bench.finish();
          expect(bench.liveInstances).toBe(0);
        },
      ),
      { numRuns: 60, seed: 55 },
    );
  });
});
