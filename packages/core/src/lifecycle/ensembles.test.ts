import type { MemoryModel, ServerBench } from "@naiad/testing";
import { echoedValue, echoModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { chain, errors, SMALL, startBench, TWO } from "../../test/ensemble-bench.ts";

const signal = new AbortController().signal;
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
