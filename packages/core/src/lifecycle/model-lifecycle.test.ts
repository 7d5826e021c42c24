import { InferenceError } from "@naiad/protocol";
import { createServerBench, echoedValue, echoModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { configJson, POLL_FAILED } from "../../test/load-request.ts";

const MS = 1_000_000;
const { signal } = new AbortController();

describe("versions", () => {
  it.each([
    ["", ["3 READY"]],
    ["version_policy { latest { num_versions: 2 } }", ["2 READY", "3 READY"]],
    ["version_policy { all {} }", ["1 READY", "2 READY", "3 READY"]],
    ["version_policy { specific { versions: [1, 3, 9] } }", ["1 READY", "3 READY"]],
  ])("with policy %j", async (policy, expected) => {
    const bench = createServerBench({ models: { m: echoModel([1, 2, 3], policy) } });
    await bench.start();
    await bench.load("m");
    expect(await bench.index()).toEqual(expected.map((state) => `m:${state}`));
    const downloaded = bench.repository.reads.filter((path) => path !== "m/config.pbtxt");
    expect(downloaded).toEqual(expected.map((state) => `m/${state.slice(0, 1)}/model.fake`));
  });

  it("says which version of the policy is not there", async () => {
    const bench = createServerBench({
      models: { m: echoModel([1], "version_policy { specific { versions: [1, 9] } }") },
    });
    await bench.start();
    await bench.load("m");
    expect(bench.logger.lines).toContainEqual({
      level: "error",
      message: "version 9 is specified for model 'm', but the version directory is not present",
    });
  });

  it("refuses a model of which the policy leaves nothing; it makes the server unready and has no line in the index", async () => {
    const bench = createServerBench({
      models: { m: echoModel([1], "version_policy { specific { versions: [9] } }") },
    });
    await bench.start();
    await expect(bench.load("m")).rejects.toMatchObject({
      code: "INVALID_ARG",
      message:
        "load failed for model 'm': at least one version must be available under the version policy of model 'm'\n" +
        "the version policy asks for 9, and the directory has 1",
    });
    expect(await bench.index()).toEqual(["m"]);
    expect(await bench.server.serverReady({}, { signal })).toEqual({ ready: false });
  });

  it("says where the model file belongs when there is no version directory", async () => {
    const bench = createServerBench({
      models: { m: { ...echoModel([]), "model.fake": "x" }, unsaid: { "model.onnx": "x" } },
    });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow(
      "under the version policy of model 'm'\n" +
        "the directory of model 'm' has no version directory: put 'model.fake' into '1/'",
    );
    await expect(bench.load("unsaid")).rejects.toThrow(
      "Expected model name of the form 'model.<backend_name>'. " +
        "(the directory of model 'unsaid' has no version directory: put 'model.onnx' into '1/')",
    );
  });

  it("ignores directories that are no versions", async () => {
    const bench = createServerBench({
      models: {
        m: { ...echoModel([1]), "01/model": "", "old/model": "", "warmup/x": "1", "labels.txt": "" },
      },
    });
    await bench.start();
    await bench.load("m");
    expect(await bench.index()).toEqual(["m:1 READY"]);
    expect(bench.repository.reads).not.toContain("m/01/model");
    expect(bench.repository.reads).toContain("m/warmup/x");
  });

  it("is tried again as often as an option says", async () => {
    let failures = 2;
    const bench = createServerBench({
      models: { m: echoModel() },
      options: { modelLoadRetryCount: 1 },
      backend: {
        onCreate: () => {
          failures -= 1;
          return failures < 0
            ? { kind: "create" }
            : { kind: "fail", error: new InferenceError("INTERNAL", "no luck") };
        },
      },
    });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow("Internal: no luck");
    expect(bench.backend.creationCount).toBe(2);
    failures = 1;
    await bench.load("m");
    expect(await bench.index()).toEqual(["m:1 READY"]);
    expect(bench.logger.lines).toContainEqual({
      level: "warning",
      message: "failed to load 'm' version 1, trying again: no luck",
    });
  });

  it("load side by side", async () => {
    const bench = createServerBench({
      models: { m: echoModel([1, 2], "version_policy { all {} }") },
      backend: { onCreate: () => ({ kind: "create", latencyNs: MS }) },
    });
    await bench.start();
    const load = bench.load("m");
    await bench.until(() => bench.backend.creationCount === 2);
    await bench.clock.advance(MS);
    await load;
  });
});

describe("a model that is served", () => {
  it("is left alone by a load when nothing changed", async () => {
    const bench = createServerBench({ models: { m: echoModel() } });
    await bench.start();
    await bench.load("m");
    await bench.load("m");
    expect(bench.backend.creationCount).toBe(1);
  });

  it("is loaded anew when a file changed, and files that did not are not downloaded again", async () => {
    const bench = createServerBench({ models: { m: { ...echoModel(), "labels.txt": "old" } } });
    await bench.start();
    await bench.load("m");
    bench.repository.put("m", { ...echoModel(), "labels.txt": "new" });
    await bench.load("m");
    expect(bench.backend.creationCount).toBe(2);
    expect(bench.repository.reads.slice(3)).toEqual(["m/labels.txt"]);
  });

  it("has no gap while its successor loads, and the last requests of the old one are answered", async () => {
    const bench = createServerBench({
      models: { m: echoModel([1]) },
      backend: {
        latencyNs: 20 * MS,
        onCreate: (_placement, generation) => ({ kind: "create", latencyNs: generation === 0 ? 0 : 10 * MS }),
      },
    });
    await bench.start();
    await bench.load("m");
    const onOld = bench.infer("m", 1);
    await bench.until(() => bench.backend.runningCount === 1);
    bench.repository.put("m", { ...echoModel([1]), "1/model.fake": "changed" });
    const reload = bench.load("m");
    await bench.until(() => bench.backend.creationCount === 2);
    const whileLoading = bench.infer("m", 2);
    expect(await bench.index()).toEqual(["m:1 READY"]);
    await bench.clock.advance(10 * MS);
    await reload;
    const onNew = bench.infer("m", 3);
    await bench.clock.drain();
    expect(
      await Promise.all([onOld, whileLoading, onNew].map(async (answer) => echoedValue(await answer))),
    ).toEqual([1, 2, 3]);
    await bench.clock.settle();
    expect(bench.liveInstances).toBe(1);
  });

  it("goes on serving when a new load fails, and the next load tries again", async () => {
    let isBroken = false;
    const bench = createServerBench({
      models: { m: echoModel() },
      backend: {
        onCreate: () =>
          isBroken
            ? { kind: "fail", error: new InferenceError("UNSUPPORTED", "no operator") }
            : { kind: "create" },
      },
    });
    await bench.start();
    await bench.load("m");
    isBroken = true;
    bench.repository.put("m", echoModel([1, 2]));
    await expect(bench.load("m")).rejects.toMatchObject({
      code: "INVALID_ARG",
      message: "load failed for model 'm': version 2 is at UNAVAILABLE state: Unsupported: no operator;\n",
    });
    expect(await bench.infer("m", 1)).toMatchObject({ modelVersion: "1" });
    expect(await bench.index()).toEqual(["m:1 READY", "m:2 UNAVAILABLE Unsupported: no operator"]);
    await expect(bench.load("m")).rejects.toThrow("no operator");
    bench.repository.put("m", { "config.pbtxt": "?" });
    await expect(bench.load("m")).rejects.toThrow(POLL_FAILED);
    expect(await bench.infer("m", 1)).toMatchObject({ modelVersion: "1" });
    isBroken = false;
    bench.repository.put("m", echoModel([1, 2]));
    await bench.load("m");
    await bench.clock.settle();
    expect(await bench.index()).toEqual(["m:1 UNAVAILABLE unloaded", "m:2 READY"]);
    expect(bench.liveInstances).toBe(1);
  });

  it("may be loaded again after a failed reload, and keeps its instances where it is as it was", async () => {
    const bench = createServerBench({ models: { m: echoModel() } });
    await bench.start();
    await bench.load("m");
    bench.repository.put("m", { "config.pbtxt": "?" });
    await expect(bench.load("m")).rejects.toThrow(POLL_FAILED);
    bench.repository.put("m", echoModel());
    await bench.load("m");
    expect(await bench.index()).toEqual(["m:1 READY"]);
    expect(bench.backend.creationCount).toBe(1);
  });
});

describe("unload", () => {
  it("refuses new requests at once, answers the accepted ones and then frees the instance", async () => {
    const bench = createServerBench({ models: { m: echoModel() }, backend: { latencyNs: 10 * MS } });
    await bench.start();
    await bench.load("m");
    const accepted = [bench.infer("m", 1), bench.infer("m", 2)];
    await bench.until(() => bench.backend.runningCount === 1);
    await bench.unload("m");
    expect(await bench.index()).toEqual(["m:1 UNLOADING"]);
    await expect(bench.infer("m", 3)).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(bench.liveInstances).toBe(1);
    await bench.clock.drain();
    expect(await Promise.all(accepted.map(async (answer) => echoedValue(await answer)))).toEqual([1, 2]);
    await bench.clock.settle();
    expect(bench.liveInstances).toBe(0);
    expect(await bench.index()).toEqual(["m:1 UNAVAILABLE unloaded"]);
  });

  it("waits for a load of the same model and not for one of another", async () => {
    const bench = createServerBench({
      models: { slow: echoModel(), fast: echoModel() },
      backend: {
        onCreate: ({ instanceName }) => ({
          kind: "create",
          latencyNs: instanceName.startsWith("slow") ? 10 * MS : 0,
        }),
      },
    });
    await bench.start();
    const load = bench.load("slow");
    const unload = bench.unload("slow");
    await bench.load("fast");
    await bench.unload("fast");
    await bench.until(() => bench.backend.creationCount === 2);
    expect(await bench.index()).toContain("slow:1 LOADING");
    await bench.clock.advance(10 * MS);
    await Promise.all([load, unload]);
    await bench.clock.settle();
    expect(await bench.index()).toContain("slow:1 UNAVAILABLE unloaded");
    expect(bench.liveInstances).toBe(0);
  });

  it("is followed by a load that loads again", async () => {
    const bench = createServerBench({ models: { m: echoModel() } });
    await bench.start();
    await bench.load("m");
    await bench.unload("m");
    await bench.load("m");
    expect(bench.backend.creationCount).toBe(2);
    expect(echoedValue(await bench.infer("m", 5))).toBe(5);
  });
});

describe("a load request's own configuration", () => {
  it("replaces the file as a whole, and the next plain load goes back", async () => {
    const bench = createServerBench({ models: { m: echoModel([1, 2]) } });
    const maxBatchSize = async (): Promise<unknown> =>
      (await bench.server.modelConfig({ modelName: "m", modelVersion: "" }, { signal }))["max_batch_size"];
    await bench.start();
    await bench.load(
      "m",
      configJson({
        maxBatchSize: 7,
        max_batch_size: undefined,
        versionPolicy: { specific: { versions: [1] } },
      }),
    );
    expect(await maxBatchSize()).toBe(7);
    expect(await bench.index()).toEqual(["m:1 READY"]);
    await bench.load("m");
    expect(await maxBatchSize()).toBe(4);
    await bench.clock.settle();
    expect(await bench.index()).toEqual(["m:1 UNAVAILABLE unloaded", "m:2 READY"]);
    await bench.load("m");
    expect(bench.backend.creationCount).toBe(2);
  });

  it("changes nothing when it is given again", async () => {
    const bench = createServerBench({ models: { m: echoModel() } });
    await bench.start();
    await bench.load("m", configJson());
    await bench.load("m", configJson());
    expect(bench.backend.creationCount).toBe(1);
  });

  it.each(["{", '{"no_such_field": 1}', "[]"])("is refused when it is %s", async (config) => {
    const bench = createServerBench({ models: { m: echoModel() } });
    await bench.start();
    await expect(bench.load("m", config)).rejects.toThrow(
      `failed to load 'm', ${POLL_FAILED}: Invalid config override: `,
    );
  });
});

describe("a load request's own files", () => {
  const bytes = new TextEncoder().encode("uploaded");

  it("stand for the whole directory, in no repository", async () => {
    const seen: string[] = [];
    const bench = createServerBench({
      prepare: async ({ config, files }) => {
        for (const { path } of files.entries)
          seen.push(`${path}=${new TextDecoder().decode(await files.read(path))}`);
        expect(files.location).toEqual({ kind: "memory" });
        expect(new TextDecoder().decode(await files.read("1/model.fake", { start: 2, end: 4 }))).toBe("lo");
        await expect(files.read("2/model.fake")).rejects.toMatchObject({ code: "NOT_FOUND" });
        return config;
      },
    });
    await bench.start();
    const files = { "./1/model.fake": bytes, "labels.txt": new TextEncoder().encode("cat") };
    await bench.server.repositoryModelLoad({ modelName: "up", config: configJson(), files }, { signal });
    expect(seen).toEqual(["1/model.fake=uploaded", "labels.txt=cat"]);
    expect(echoedValue(await bench.infer("up", 4))).toBe(4);
    expect(await bench.index()).toEqual([]);
  });

  it.each(["../other/1/model.fake", "1/../../x", "/1/model.fake"])("must not be at %s", async (path) => {
    const bench = createServerBench();
    await bench.start();
    const request = { modelName: "up", config: configJson(), files: { [path]: bytes } };
    await expect(bench.server.repositoryModelLoad(request, { signal })).rejects.toThrow(
      `failed to load 'up', ${POLL_FAILED}: Invalid file parameter 'file:${path}' must stay within model directory.`,
    );
  });

  it("need a configuration", async () => {
    const bench = createServerBench({ models: { m: echoModel() } });
    await bench.start();
    const request = { modelName: "m", files: { "1/model.fake": bytes } };
    await expect(bench.server.repositoryModelLoad(request, { signal })).rejects.toMatchObject({
      code: "INTERNAL",
      message: `failed to load 'm', ${POLL_FAILED}: Load parameter 'config' must be specified for model file override`,
    });
  });
});
