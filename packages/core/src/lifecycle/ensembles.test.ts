import type { MemoryModel, ServerBench, ServerBenchOptions } from "@naiad/testing";
import { createServerBench, ECHO_CONFIG, echoedValue, echoModel, ensembleModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";

const signal = new AbortController().signal;

/** Models one after another, each `name` or `name@version`; the tensors are those of an echo model. */
function chain(models: readonly string[], config = ""): MemoryModel {
  const tensors = ["x", ...models.slice(1).map((_, index) => `t${String(index)}`), "y"];
  return ensembleModel({
    inputs: "x INT32 [1]",
    outputs: "y INT32 [1]",
    steps: models.map((name, index) => `${name}: x=${tensors[index] ?? ""} > y=${tensors[index + 1] ?? ""}`),
    maxBatchSize: 4,
    config,
  });
}

async function startBench(
  models: Readonly<Record<string, MemoryModel>>,
  options: ServerBenchOptions = {},
): Promise<ServerBench> {
  const bench = createServerBench({ models, ...options });
  await bench.start();
  return bench;
}

const TWO = { a: echoModel(), b: echoModel(), e: chain(["a", "b"]) };

/** Takes batches of 2 only. */
const SMALL: MemoryModel = {
  ...echoModel(),
  "config.pbtxt": ECHO_CONFIG.replace("max_batch_size: 4", "max_batch_size: 2"),
};

const errors = ({ logger }: ServerBench): readonly string[] =>
  logger.lines.filter(({ level }) => level === "error").map(({ message }) => message);
const unload = (bench: ServerBench, modelName: string, unloadDependents = true): Promise<unknown> =>
  bench.server.repositoryModelUnload({ modelName, unloadDependents }, { signal });
const read = (bench: ServerBench): number => bench.repository.reads.length;

describe("loading an ensemble", () => {
  it("loads its models too", async () => {
    const bench = await startBench(TWO);
    await bench.load("e");
    expect(await bench.index()).toEqual(["a:1 READY", "b:1 READY", "e:1 READY"]);
    expect(echoedValue(await bench.infer("e", 7))).toBe(7);
  });

  it("leaves models that are served and unchanged alone", async () => {
    const bench = await startBench(TWO);
    await bench.load("a");
    await bench.load("e");
    await bench.load("e");
    expect(bench.backend.creationCount).toBe(2);
  });

  it("takes up what has changed in its models", async () => {
    const bench = await startBench(TWO);
    await bench.load("e");
    bench.repository.put("a", { ...echoModel(), "1/model.fake": "another" });
    await bench.load("e");
    expect(bench.backend.creationCount).toBe(3);
  });

  it("leaves a model alone that a client has loaded its own way", async () => {
    const bench = await startBench(TWO);
    await bench.load(
      "a",
      JSON.stringify({
        backend: "fake",
        max_batch_size: 8,
        input: [{ name: "x", data_type: "TYPE_INT32", dims: [1] }],
        output: [{ name: "y", data_type: "TYPE_INT32", dims: [1] }],
      }),
    );
    await bench.load("e");
    expect(await bench.server.modelConfig({ modelName: "a", modelVersion: "" }, { signal })).toMatchObject({
      max_batch_size: 8,
    });
  });

  it("loads ensembles that it is made of", async () => {
    const bench = await startBench({ ...TWO, outer: chain(["e", "a"]) });
    await bench.load("outer");
    expect(await bench.index()).toEqual(["a:1 READY", "b:1 READY", "e:1 READY", "outer:1 READY"]);
    expect(echoedValue(await bench.infer("outer", 7))).toBe(7);
  });

  it.each<[string, Readonly<Record<string, MemoryModel>>, string]>([
    [
      "that are not there",
      { a: echoModel(), e: chain(["a", "b", "c"]) },
      "ensemble e contains models that are not available or ambiguous: b, c; model 'b' is not in any model repository; " +
        "model 'c' is not in any model repository",
    ],
    [
      "that cannot be polled",
      { a: { "config.pbtxt": 'backend: "fake" name: "other"', "1/model.fake": "" }, e: chain(["a"]) },
      "ensemble e contains models that are not available or ambiguous: a; unexpected directory name 'a' for model " +
        "'other', directory name must equal model name",
    ],
    [
      "that fail to load",
      { a: { ...echoModel(), "config.pbtxt": 'backend: "absent"' }, e: chain(["a"]) },
      "ensemble 'e' depends on 'a' which has no loaded version. Model 'a' loading failed with error: version 1 is at " +
        "UNAVAILABLE state: Invalid argument: unable to find backend library for backend 'absent'",
    ],
    [
      "whose version is not loaded",
      { a: echoModel([1, 2]), e: chain(["a@1"]) },
      "ensemble 'e' depends on 'a' whose required version 1 is not loaded.",
    ],
    [
      "that are ensembles without their models",
      { inner: chain(["b"]), e: chain(["inner"]) },
      "ensemble 'e' depends on 'inner' which is not valid. Model 'inner' failed with error: ensemble inner contains " +
        "models that are not available or ambiguous: b",
    ],
    [
      "that do not fit",
      { a: SMALL, e: chain(["a"]) },
      "ensemble e allows maximum batch size 4, but it contains model a which only allows maximum batch size to be 2",
    ],
    [
      "that need it",
      { inner: chain(["e"]), e: chain(["inner"]) },
      "circular dependency between ensembles: e -> ... -> inner -> e",
    ],
    ["that it is itself", { e: chain(["e"]) }, "circular dependency between ensembles: e -> ... -> e -> e"],
  ])("is refused with models %s", async (_what, models, reason) => {
    const bench = await startBench(models);
    const refused = bench.load("e");
    await expect(refused).rejects.toMatchObject({ code: "INVALID_ARG" });
    await expect(refused).rejects.toThrow(`load failed for model 'e': ${reason}`);
    expect((await bench.index()).find((line) => line.startsWith("e"))).toContain(
      `e:1 UNAVAILABLE Invalid argument: ${reason}`,
    );
    // A second try fails again.
    await expect(bench.load("e")).rejects.toThrow(reason);
    expect(await bench.server.serverReady({}, { signal })).toEqual({ ready: false });
  });

  it("needs a version directory, which may be empty", async () => {
    const bench = await startBench({ ...TWO, e: { "config.pbtxt": String(TWO.e["config.pbtxt"]) } });
    await expect(bench.load("e")).rejects.toThrow(
      "at least one version must be available under the version policy of model 'e'",
    );
  });

  it("inherits the labels of its outputs", async () => {
    const labelled = echoModel([1], "");
    const config = String(labelled["config.pbtxt"]).replace(
      "output {",
      'output { label_filename: "names.txt"',
    );
    const bench = await startBench({
      ...TWO,
      b: { ...labelled, "config.pbtxt": config, "names.txt": "zero\none\n" },
      outer: chain(["e"]),
    });
    await bench.load("outer");
    const { outputs } = await bench.server.modelInfer(
      {
        modelName: "outer",
        modelVersion: "",
        id: "",
        parameters: {},
        inputs: [
          { kind: "bytes", name: "x", datatype: "INT32", shape: [1, 1], bytes: Uint8Array.of(5, 0, 0, 0) },
        ],
        outputs: [{ name: "y", classCount: 1 }],
      },
      { signal },
    );
    const [output] = outputs;
    expect(output?.kind === "bytes" ? new TextDecoder().decode(output.bytes) : "").toContain("zero");
  });
});

describe("an ensemble whose models change", () => {
  it("is loaded with them again, and never out of service meanwhile", async () => {
    const bench = await startBench(TWO);
    await bench.load("e");
    bench.repository.put("b", { ...echoModel([2]), "2/model.fake": "another" });
    const seen: string[] = [];
    bench.server.subscribe((event) => {
      if (event.kind === "model" && event.modelName === "e") seen.push(event.state);
    });
    await bench.load("b");
    expect(seen).toEqual(["READY"]);
    expect(echoedValue(await bench.infer("e", 7))).toBe(7);
  });

  it("is not loaded again when one of them was looked at and has not changed", async () => {
    const bench = await startBench(TWO);
    await bench.load("e");
    await bench.infer("e", 7);
    await bench.load("b");
    const { model_stats: stats } = await bench.server.modelStatistics(
      { modelName: "e", modelVersion: "" },
      { signal },
    );
    expect(stats[0]?.inference_count).toBe(1);
  });

  it("is taken out of service when one does not fit any more", async () => {
    const bench = await startBench(TWO);
    await bench.load("e");
    bench.repository.put("b", SMALL);
    await bench.load("b");
    const reason =
      "ensemble e allows maximum batch size 4, but it contains model b which only allows maximum batch size to be 2";
    const index = ["a:1 READY", "b:1 READY", `e:1 UNAVAILABLE Invalid argument: ${reason}`];
    expect(await bench.index()).toEqual(index);
    expect(errors(bench)).toEqual([`load failed for model 'e': ${reason}`]);
    expect(await bench.server.serverReady({}, { signal })).toEqual({ ready: false });
    // It is not what was loaded that is told of again.
    bench.repository.put("a", { ...echoModel(), "1/model.fake": "another" });
    await bench.load("a");
    expect(await bench.index()).toEqual(index);
    expect(errors(bench)).toHaveLength(1);
    bench.repository.put("b", echoModel());
    await bench.load("b");
    expect(echoedValue(await bench.infer("e", 7))).toBe(7);
  });

  it("shows why while it still answers, when one does not fit any more", async () => {
    const bench = await startBench(TWO, { backend: { latencyNs: 1e6 } });
    await bench.load("e");
    const answer = bench.infer("e", 7);
    await bench.until(() => bench.backend.executions.length === 1);
    bench.repository.put("b", SMALL);
    await bench.load("b");
    expect((await bench.index())[2]).toContain("e:1 UNLOADING Invalid argument: ensemble e allows");
    await bench.finish();
    expect(echoedValue(await answer)).toBe(7);
    expect((await bench.index())[2]).toContain("e:1 UNAVAILABLE Invalid argument: ensemble e allows");
  });

  it("counts as unloaded with several of them, also while it still answers", async () => {
    const bench = await startBench(TWO, { backend: { latencyNs: 1e6 } });
    await bench.load("e");
    const answer = bench.infer("e", 7);
    await bench.until(() => bench.backend.executions.length === 1);
    await bench.unload("a");
    await bench.unload("b");
    await bench.finish();
    expect(echoedValue(await answer)).toBe(7);
    expect(await bench.index()).toContain("e:1 UNAVAILABLE unloaded");
  });

  it("tells once of an error that it has with every load of them", async () => {
    const decoupled = echoModel([1], "model_transaction_policy { decoupled: true }");
    const bench = await startBench({
      a: decoupled,
      b: echoModel(),
      e: chain(["a", "b"], "response_cache { enable: true }"),
    });
    await expect(bench.load("e")).rejects.toThrow("Response Cache does not currently support");
    for (const content of ["second", "third"]) {
      bench.repository.put("a", { ...decoupled, "1/model.fake": content });
      await bench.load("a");
    }
    expect(errors(bench).filter((message) => message.includes("model 'e'"))).toHaveLength(1);
    // Once it was served, the same error is news.
    bench.repository.put("a", echoModel());
    await bench.load("a");
    expect(echoedValue(await bench.infer("e", 7))).toBe(7);
    bench.repository.put("a", decoupled);
    await bench.load("a");
    expect(errors(bench).filter((message) => message.includes("model 'e'"))).toHaveLength(2);
    expect((await bench.index())[2]).toContain(
      "e:1 UNAVAILABLE Invalid argument: version 1 is at UNAVAILABLE state",
    );
  });

  it("stays as it is when it is loaded itself with a configuration that fails", async () => {
    const bench = await startBench({
      ...TWO,
      d: echoModel([1], "model_transaction_policy { decoupled: true }"),
    });
    await bench.load("e");
    bench.repository.put("e", chain(["a", "d"], "response_cache { enable: true }"));
    await expect(bench.load("e")).rejects.toThrow("Response Cache does not currently support");
    expect(echoedValue(await bench.infer("e", 7))).toBe(7);
  });

  it("stays as it is when the load of one fails", async () => {
    const bench = await startBench(TWO);
    await bench.load("e");
    bench.repository.put("b", { ...echoModel(), "config.pbtxt": 'backend: "absent"' });
    await expect(bench.load("b")).rejects.toThrow("absent");
    expect(echoedValue(await bench.infer("e", 7))).toBe(7);
  });

  it("goes when one is unloaded, and comes back with it", async () => {
    const bench = await startBench({ ...TWO, outer: chain(["e"]) });
    await bench.load("outer");
    await bench.unload("a");
    expect(await bench.index()).toEqual([
      "a:1 UNAVAILABLE unloaded",
      "b:1 READY",
      "e:1 UNAVAILABLE unloaded",
      "outer:1 UNAVAILABLE unloaded",
    ]);
    expect(errors(bench)).toEqual([
      "load failed for model 'e': ensemble e contains models that are not available or ambiguous: a",
      "load failed for model 'outer': ensemble 'outer' depends on 'e' which is not valid. Model 'e' failed with error: " +
        "ensemble e contains models that are not available or ambiguous: a",
    ]);
    await bench.load("a");
    expect(await bench.index()).toEqual(["a:1 READY", "b:1 READY", "e:1 READY", "outer:1 READY"]);
  });

  it("does not come back once it was unloaded itself", async () => {
    const bench = await startBench(TWO);
    await bench.load("e");
    await bench.unload("a");
    await bench.unload("e");
    await bench.load("a");
    expect(await bench.index()).toContain("e:1 UNAVAILABLE unloaded");
  });

  it("is loaded as soon as the model is that it waited for", async () => {
    const bench = await startBench({ a: echoModel(), e: chain(["a", "b"]) });
    await expect(bench.load("e")).rejects.toThrow("not available or ambiguous: b");
    bench.repository.put("b", echoModel());
    await bench.load("b");
    expect(await bench.index()).toEqual(["a:1 READY", "b:1 READY", "e:1 READY"]);
  });
});

it("a request without a sequence is done again behind an ensemble in an ensemble, where a worker ended beside it", async () => {
  let losses = 0;
  const bench = await startBench(
    { ...TWO, inner: chain(["a"]), outer: chain(["inner", "b"]) },
    {
      backend: {
        keepsState: true,
        onExecute: ({ instanceName }) =>
          instanceName.startsWith("b") && (losses += 1) === 1
            ? { kind: "lose", culprit: false }
            : { kind: "complete" },
      },
    },
  );
  await bench.load("outer");
  const answer = bench.infer("outer", 7);
  await bench.finish();
  expect(echoedValue(await answer)).toBe(7);
  expect(losses).toBe(2);
});

describe("unloading", () => {
  it("an ensemble leaves its models", async () => {
    const bench = await startBench(TWO);
    await bench.load("e");
    await bench.unload("e");
    expect(await bench.index()).toEqual(["a:1 READY", "b:1 READY", "e:1 UNAVAILABLE unloaded"]);
  });

  it("with its dependents takes what was loaded for it alone", async () => {
    const bench = await startBench({ ...TWO, other: chain(["b"]) });
    await bench.load("e");
    await bench.load("other");
    await unload(bench, "e");
    expect(await bench.index()).toEqual([
      "a:1 UNAVAILABLE unloaded",
      "b:1 READY",
      "e:1 UNAVAILABLE unloaded",
      "other:1 READY",
    ]);
    await unload(bench, "other");
    expect(await bench.index()).toContain("b:1 UNAVAILABLE unloaded");
    await bench.finish();
    expect(bench.liveInstances).toBe(0);
    expect(errors(bench)).toEqual([]);
  });

  it("with its dependents leaves what was asked for by name, before or after", async () => {
    const bench = await startBench(TWO);
    await bench.load("a");
    await bench.load("e");
    await bench.load("b");
    await unload(bench, "e");
    expect(await bench.index()).toEqual(["a:1 READY", "b:1 READY", "e:1 UNAVAILABLE unloaded"]);
  });

  it("lets a request go on that has begun, with every model that it needs", async () => {
    const bench = await startBench(TWO, { backend: { latencyNs: 1e6 } });
    await bench.load("e");
    const answer = bench.infer("e", 7);
    await bench.until(() => bench.backend.executions.length === 1);
    await unload(bench, "e");
    await expect(bench.infer("b", 7)).rejects.toThrow("has no available versions");
    await bench.finish();
    expect(echoedValue(await answer)).toBe(7);
    expect(bench.liveInstances).toBe(0);
  });
});

describe("a server that loads everything", () => {
  const options = { modelControlMode: "none" } as const;

  it("loads ensembles after their models, however few loads run at once", async () => {
    const models = { aa: chain(["e", "z"]), ...TWO, z: echoModel() };
    const bench = await startBench(models, { options: { ...options, modelLoadThreadCount: 1 } });
    expect(await bench.index()).toEqual(["a:1 READY", "aa:1 READY", "b:1 READY", "e:1 READY", "z:1 READY"]);
    expect(bench.backend.creationCount).toBe(3);
    expect(errors(bench)).toEqual([]);
  });

  it("tells of every ensemble of a circle, and serves the others", async () => {
    const bench = await startBench(
      { ...TWO, p: chain(["q"]), q: chain(["r", "a"]), r: chain(["p"]) },
      { options: { ...options, exitOnError: false } },
    );
    const index = await bench.index();
    expect(index.slice(0, 3)).toEqual(["a:1 READY", "b:1 READY", "e:1 READY"]);
    for (const [line, text] of [
      [index[3], "p -> ... -> r -> p"],
      [index[4], "q -> ... -> p -> q"],
      [index[5], "r -> ... -> q -> r"],
    ]) {
      expect(line).toContain(`circular dependency between ensembles: ${text ?? ""}`);
    }
  });

  it("stops and leaves nothing behind", async () => {
    const bench = await startBench({ ...TWO, outer: chain(["e"]) }, { options, backend: { latencyNs: 1e6 } });
    const answer = bench.infer("outer", 7);
    await bench.until(() => bench.backend.executions.length === 1);
    const stopped = bench.server.stop();
    await bench.finish();
    await stopped;
    expect(echoedValue(await answer)).toBe(7);
    expect(bench.liveInstances).toBe(0);
  });
});

describe("a server that polls", () => {
  const options = { modelControlMode: "poll", repositoryPollSecs: 10, exitOnError: false } as const;

  it("follows its repository", async () => {
    const bench = await startBench(TWO, { options });
    bench.repository.remove("a");
    await bench.clock.advance(10e9);
    expect(await bench.index()).toEqual(["b:1 READY", "e:1 UNAVAILABLE unloaded"]);
    bench.repository.put("a", echoModel());
    await bench.clock.advance(10e9);
    expect(await bench.index()).toEqual(["a:1 READY", "b:1 READY", "e:1 READY"]);
    bench.repository.remove("e");
    bench.repository.remove("a");
    await bench.clock.advance(10e9);
    expect(await bench.index()).toEqual(["b:1 READY"]);
    await bench.server.stop();
  });

  it("tells once why an ensemble cannot be served, and reads no file again for it", async () => {
    const bench = await startBench({ a: echoModel(), e: chain(["a", "b"]) }, { options });
    const before = read(bench);
    await bench.clock.advance(35e9);
    expect(errors(bench).filter((message) => message.includes("ensemble e contains"))).toHaveLength(2);
    expect(read(bench)).toBe(before);
    await bench.server.stop();
  });
});

it("a server that follows this one gets to know what was asked for by name", async () => {
  const bench = await startBench(TWO);
  await bench.load("e");
  await bench.load("b");
  expect(bench.server.servedModels()).toEqual([
    { modelName: "a", forOthers: true },
    { modelName: "b" },
    { modelName: "e" },
  ]);
  const next = await startBench(TWO, { inherited: bench.server.servedModels() });
  expect(await next.index()).toEqual(["a:1 READY", "b:1 READY", "e:1 READY"]);
  await unload(next, "e");
  expect(await next.index()).toEqual(["a:1 UNAVAILABLE unloaded", "b:1 READY", "e:1 UNAVAILABLE unloaded"]);
});
