import { InferenceError } from "@naiad/protocol";
import type { FakeAnswer, FakeBackendOptions, FakeExecution, ServerBench } from "@naiad/testing";
import { createServerBench, echoedValue, echoModel, ensembleModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";

const MS = 1e6;
const CHAIN = ensembleModel({
  inputs: "x INT32 [1]",
  outputs: "y INT32 [1]",
  maxBatchSize: 4,
  steps: ["first: x=x > y=a", "second: x=a > y=b", "third: x=b > y=y"],
});

interface Options {
  /** By model; default: all in `gpu:0`. */
  readonly workers?: Readonly<Record<string, string | undefined>>;
  readonly onExecute?: (execution: FakeExecution) => FakeAnswer;
  readonly backend?: Partial<FakeBackendOptions>;
  readonly config?: string;
}

/** `e`: three models that copy, one behind the other. */
async function start({
  workers = {},
  onExecute,
  backend = {},
  config = "",
}: Options = {}): Promise<ServerBench> {
  const bench = createServerBench({
    models: { first: echoModel([1], config), second: echoModel(), third: echoModel(), e: CHAIN },
    backend: {
      deviceWorkerOf: (instanceName) => {
        const [model = ""] = instanceName.split("_");
        return model in workers ? workers[model] : "gpu:0";
      },
      ...(onExecute !== undefined && { onExecute }),
      ...backend,
    },
    options: { cacheConfig: { kind: "local", byteSize: 1e6 } },
  });
  await bench.start();
  await bench.load("e");
  return bench;
}

const modelOf = ({ instanceName }: FakeExecution): string => instanceName.split("_")[0] ?? "";
const readbacks = ({ server }: ServerBench): Readonly<Record<string, number>> =>
  Object.fromEntries(server.instances().map(({ modelName, readbacks: count = 0 }) => [modelName, count]));
const expectNothingLeft = ({ backend, server }: ServerBench): void => {
  expect(backend.deviceMemories).toMatchObject({ liveCount: 0, faults: [] });
  expect(server.instances().filter(({ deviceTensors }) => deviceTensors !== undefined)).toEqual([]);
};

describe("tensors between steps on one device", () => {
  it("stay there: a chain of three is read back once", async () => {
    const bench = await start();
    expect(echoedValue(await bench.infer("e", 7))).toBe(7);
    expect(readbacks(bench)).toEqual({ first: 0, second: 0, third: 1 });
    expectNothingLeft(bench);
  });

  it("are counted while they lie there", async () => {
    const bench = await start({
      onExecute: (execution) => ({ kind: "complete", latencyNs: modelOf(execution) === "second" ? MS : 0 }),
    });
    const answer = bench.infer("e", 7);
    await bench.until(() => bench.backend.executions.length === 2);
    expect(bench.backend.deviceMemories.liveCount).toBe(1);
    const first = bench.server.instances().find(({ modelName }) => modelName === "first");
    expect(first).toMatchObject({ deviceTensors: 1, deviceBytes: 4 });
    await bench.finish();
    expect(echoedValue(await answer)).toBe(7);
    expectNothingLeft(bench);
  });

  it("are bytes for a model of another worker or without device memory", async () => {
    const apart = await start({ workers: { second: "gpu:1" } });
    expect(echoedValue(await apart.infer("e", 7))).toBe(7);
    expect(readbacks(apart)).toEqual({ first: 1, second: 1, third: 1 });
    const mixed = await start({ workers: { third: undefined } });
    expect(echoedValue(await mixed.infer("e", 7))).toBe(7);
    expect(readbacks(mixed)).toEqual({ first: 0, second: 1, third: 0 });
    expectNothingLeft(mixed);
  });

  it("are bytes for the response cache", async () => {
    const bench = await start({ config: "response_cache { enable: true }" });
    expect(echoedValue(await bench.infer("e", 7))).toBe(7);
    expect(echoedValue(await bench.infer("e", 7))).toBe(7);
    expect(bench.backend.executions.filter((execution) => modelOf(execution) === "first")).toHaveLength(1);
    expectNothingLeft(bench);
  });

  it("stay out of an answer that is asked for by itself", async () => {
    const bench = await start();
    expect(echoedValue(await bench.infer("first", 7))).toBe(7);
    expect(readbacks(bench)).toMatchObject({ first: 1 });
  });
});

describe("a request of an ensemble disposes its tensors once", () => {
  it("when a step fails", async () => {
    const bench = await start({
      onExecute: (execution) =>
        modelOf(execution) === "third"
          ? { kind: "fail", error: { code: "INTERNAL", message: "no" } }
          : { kind: "complete" },
    });
    await expect(bench.infer("e", 7)).rejects.toThrow("in ensemble 'e', no");
    expectNothingLeft(bench);
  });

  it("when it is cancelled while a step executes, the one that it gives then too", async () => {
    const bench = await start({ onExecute: () => ({ kind: "complete", latencyNs: MS }) });
    const controller = new AbortController();
    bench.clock.after(1.5 * MS, () => {
      controller.abort();
    });
    const answer = bench.infer("e", 7, { signal: controller.signal }).catch((thrown: unknown) => thrown);
    await bench.finish();
    expect(InferenceError.from(await answer).code).toBe("CANCELLED");
    expect(bench.backend.executions.map(modelOf)).toEqual(["first", "second"]);
    expectNothingLeft(bench);
  });

  it("when it is cancelled while its answer waits for its turn", async () => {
    const bench = await start({
      config: "dynamic_batching { preserve_ordering: true } instance_group { count: 2 kind: KIND_CPU }",
      onExecute: ({ instanceName }) => ({
        kind: "complete",
        latencyNs: instanceName === "first_0_0" ? 10 * MS : MS,
      }),
    });
    const controller = new AbortController();
    bench.clock.after(5 * MS, () => {
      controller.abort();
    });
    const before = bench.infer("first", 1);
    const answer = bench.infer("e", 7, { signal: controller.signal }).catch((thrown: unknown) => thrown);
    await bench.until(() => bench.backend.executions.length === 2);
    await bench.finish();
    expect(InferenceError.from(await answer).code).toBe("CANCELLED");
    expect(echoedValue(await before)).toBe(1);
    expectNothingLeft(bench);
  });
});

describe("a worker that ends with tensors in its memory", () => {
  /** The worker ends while `second` executes for the first time. */
  const losing = (bench: () => ServerBench, culprit: boolean): FakeBackendOptions["onExecute"] => {
    let hasEnded = false;
    return (execution) => {
      if (modelOf(execution) === "second" && !hasEnded) {
        hasEnded = true;
        bench().clock.after(MS / 2, () => {
          bench().backend.loseWorker("gpu:0", { culprit });
        });
      }
      return { kind: "complete", latencyNs: MS };
    };
  };

  it.each([true, false])("has the request done once more, with bytes (culprit: %s)", async (culprit) => {
    const onExecute = losing((): ServerBench => bench, culprit);
    const bench: ServerBench = await start(onExecute === undefined ? {} : { onExecute });
    const answer = bench.infer("e", 7);
    await bench.finish();
    expect(echoedValue(await answer)).toBe(7);
    expect(bench.backend.executions.map(modelOf)).toEqual([
      "first",
      "second",
      // Whose input is gone.
      "second",
      "first",
      "second",
      "third",
    ]);
    expect(readbacks(bench)).toEqual({ first: 1, second: 1, third: 1 });
    expectNothingLeft(bench);
  });

  it("has a request fail that must not be done twice", async () => {
    const onExecute = losing((): ServerBench => bench, false);
    const bench: ServerBench = await start({
      backend: { keepsState: true },
      ...(onExecute !== undefined && { onExecute }),
    });
    const answer = bench.infer("e", 7).catch((thrown: unknown) => thrown);
    await bench.finish();
    expect(InferenceError.from(await answer).message).toBe(
      "in ensemble 'e', an input was lost with its worker",
    );
    expect(bench.backend.executions.map(modelOf)).toEqual(["first", "second", "second"]);
    expectNothingLeft(bench);
  });
});
