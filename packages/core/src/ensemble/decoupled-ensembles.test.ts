import type { FakeAnswer, FakeStep, MemoryModel, ServerBench } from "@naiad/testing";
import { createServerBench, echoModel, ensembleModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { readAll } from "../../test/read-all.ts";

const MS = 1e6;
const END: FakeStep = { kind: "end" };
const value = (number: number, afterNs = 0): FakeStep => ({ kind: "response", value: number, afterNs });
const DECOUPLED = "model_transaction_policy { decoupled: true }";

interface Options {
  /** What the decoupled model answers. */
  readonly steps: readonly FakeStep[];
  readonly scheduling?: string;
  /** Of each execution of the model behind it. */
  readonly latencyNs?: number;
  /** What the model behind it answers, in the place of a copy. */
  readonly sink?: FakeAnswer;
  readonly models?: Readonly<Record<string, MemoryModel>>;
}

/** `e`: the decoupled model `source`, and behind it `sink`, which copies. */
async function start({
  steps,
  scheduling = "",
  latencyNs = 0,
  sink,
  models = {},
}: Options): Promise<ServerBench> {
  const bench = createServerBench({
    models: {
      source: echoModel([1], DECOUPLED),
      sink: echoModel(),
      e: ensembleModel({
        inputs: "x INT32 [1]",
        outputs: "y INT32 [1]",
        maxBatchSize: 4,
        scheduling,
        steps: ["source: x=x > y=t", "sink: x=t > y=y"],
      }),
      ...models,
    },
    backend: {
      onExecute: ({ instanceName }) =>
        instanceName.startsWith("source")
          ? { kind: "decoupled", scripts: [steps] }
          : (sink ?? { kind: "complete", latencyNs }),
    },
  });
  await bench.start();
  await bench.load("e");
  return bench;
}

const executionsOfSink = ({ backend }: ServerBench): number =>
  backend.executions.filter(({ instanceName }) => instanceName.startsWith("sink")).length;

describe("an ensemble with a decoupled model", () => {
  it("answers once for each response of the model, and is decoupled itself", async () => {
    const bench = await start({ steps: [value(7), value(8, MS), value(9), END] });
    const responses = readAll(await bench.stream("e", 1));
    await bench.finish();
    expect(await responses).toEqual([7, 8, 9]);
    await expect(bench.infer("e", 1)).rejects.toMatchObject({ code: "UNSUPPORTED" });
    const { model_stats: stats } = await bench.server.modelStatistics(
      { modelName: "e", modelVersion: "" },
      { signal: new AbortController().signal },
    );
    expect(stats[0]).toMatchObject({ inference_count: 1, execution_count: 1 });
  });

  it("may have no response at all", async () => {
    const bench = await start({ steps: [END] });
    const responses = readAll(await bench.stream("e", 1));
    await bench.finish();
    expect(await responses).toEqual([]);
  });

  it("ends with the first error, after what was answered before", async () => {
    const error = { code: "INTERNAL", message: "broken" } as const;
    const bench = await start({ steps: [value(7), { kind: "error", error, afterNs: MS }, value(8), END] });
    const responses = readAll(await bench.stream("e", 1));
    await bench.finish();
    expect(await responses).toEqual([7, "INTERNAL in ensemble 'e', broken"]);
  });

  it("goes on with the rows of each response, whatever number of them the request had", async () => {
    const bench = await start({ steps: [value(7), value(8), END] });
    const responses = await bench.server.modelStreamInfer(
      {
        modelName: "e",
        modelVersion: "",
        id: "",
        parameters: {},
        inputs: [{ kind: "bytes", name: "x", datatype: "INT32", shape: [2, 1], bytes: new Uint8Array(8) }],
        outputs: [],
      },
      { signal: new AbortController().signal },
    );
    const read = readAll(responses);
    await bench.finish();
    expect(await read).toEqual([7, 8]);
    expect(bench.backend.executions.map(({ rows }) => rows)).toEqual([2, 1, 1]);
  });

  it("may stand in another ensemble", async () => {
    const bench = await start({
      steps: [value(7), value(8), END],
      models: {
        outer: ensembleModel({
          inputs: "x INT32 [1]",
          outputs: "y INT32 [1]",
          maxBatchSize: 4,
          steps: ["e: x=x > y=t", "sink: x=t > y=y"],
        }),
      },
    });
    await bench.load("outer");
    const responses = readAll(await bench.stream("outer", 1));
    await bench.finish();
    expect(await responses).toEqual([7, 8]);
  });

  it("is refused where it enables the response cache", async () => {
    const bench = await start({
      steps: [END],
      models: {
        cached: ensembleModel({
          inputs: "x INT32 [1]",
          outputs: "y INT32 [1]",
          maxBatchSize: 4,
          steps: ["source: x=x > y=y"],
          config: "response_cache { enable: true }",
        }),
      },
    });
    await expect(bench.load("cached")).rejects.toThrow(
      "Response Cache does not currently support model cached with 'decoupled' transaction policy.",
    );
  });
});

describe("a slow reader", () => {
  it("holds the decoupled model", async () => {
    const bench = await start({ steps: [...Array.from({ length: 30 }, (_, index) => value(index)), END] });
    const responses = await bench.stream("e", 1);
    await bench.finish();
    expect(executionsOfSink(bench)).toBeLessThan(10);
    const read = readAll(responses);
    await bench.finish();
    expect(await read).toEqual(Array.from({ length: 30 }, (_, index) => index));
  });

  it("that leaves ends everything", async () => {
    const bench = await start({ steps: [...Array.from({ length: 30 }, (_, index) => value(index)), END] });
    const aborting = new AbortController();
    const responses = await bench.stream("e", 1, { signal: aborting.signal });
    await bench.finish();
    aborting.abort();
    await bench.finish();
    expect(await readAll(responses)).toEqual([
      expect.stringContaining("CANCELLED in ensemble 'e', ") as unknown,
    ]);
    await bench.server.stop();
    expect([bench.liveInstances, bench.clock.timerCount]).toEqual([0, 0]);
  });
});

describe("max_inflight_requests", () => {
  const LIMITED = { scheduling: "max_inflight_requests: 2", latencyNs: 10 * MS };
  const STEPS = [...Array.from({ length: 6 }, (_, index) => value(index)), END];

  it("holds the decoupled model while so many requests of a step behind it are in flight", async () => {
    const bench = await start({
      steps: STEPS,
      ...LIMITED,
      models: { sink: echoModel([1], "instance_group { count: 4 kind: KIND_CPU }") },
    });
    const responses = readAll(await bench.stream("e", 1));
    await bench.until(() => bench.backend.runningCount >= 2);
    await bench.clock.settle();
    expect(executionsOfSink(bench)).toBe(2);
    await bench.finish();
    expect(await responses).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it("lets nobody in for a request that has failed", async () => {
    const error = { code: "INTERNAL", message: "broken" } as const;
    const bench = await start({
      steps: STEPS,
      scheduling: "max_inflight_requests: 1",
      sink: { kind: "fail", latencyNs: 10 * MS, error },
    });
    const responses = readAll(await bench.stream("e", 1));
    await bench.finish();
    expect(await responses).toEqual(["INTERNAL in ensemble 'e', broken"]);
    expect(executionsOfSink(bench)).toBe(1);
  });

  it("gives the wait up with the request", async () => {
    const bench = await start({ steps: STEPS, ...LIMITED });
    const aborting = new AbortController();
    const responses = await bench.stream("e", 1, { signal: aborting.signal });
    await bench.clock.advance(MS);
    aborting.abort();
    await bench.finish();
    expect(await readAll(responses)).toEqual([expect.stringContaining("CANCELLED") as unknown]);
    const again = readAll(await bench.stream("e", 1));
    await bench.finish();
    expect(await again).toEqual([0, 1, 2, 3, 4, 5]);
    expect(bench.clock.timerCount).toBe(0);
  });
});
