import { InferenceError } from "@naiad/protocol";
import { createMemoryRepository, createServerBench, echoModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";

const SECOND = 1_000_000_000;
const { signal } = new AbortController();

/** Cannot be polled: its configuration does not parse. */
const BROKEN = { "config.pbtxt": "max_batch_size: many" };

describe("mode explicit", () => {
  it("loads nothing by itself", async () => {
    const bench = createServerBench({ models: { a: echoModel(), b: echoModel() } });
    await bench.start();
    expect(await bench.index()).toEqual(["a", "b"]);
    expect(bench.repository.reads).toEqual([]);
  });

  it("loads the models that an option names", async () => {
    const models = { a: echoModel(), b: echoModel(), c: echoModel() };
    const bench = createServerBench({ models, options: { loadModels: ["c", "a"] } });
    await bench.start();
    expect(await bench.index()).toEqual(["a:1 READY", "b", "c:1 READY"]);
  });

  it("loads all for *", async () => {
    const bench = createServerBench({
      models: { a: echoModel(), b: echoModel() },
      options: { loadModels: ["*"] },
    });
    await bench.start();
    expect(await bench.index()).toEqual(["a:1 READY", "b:1 READY"]);
  });

  it.each([
    [["*", "a"], "explicit", "Wildcard model name '*' must be the ONLY startup model if specified at all."],
    [["a"], "none", "Error: Use of '--load-model' requires setting '--model-control-mode=explicit' as well."],
  ] as const)("refuses to load %j in mode %s", async (loadModels, modelControlMode, message) => {
    const bench = createServerBench({ options: { loadModels, modelControlMode, exitOnError: false } });
    await expect(bench.start()).rejects.toThrow(message);
    await expect(bench.server.serverLive({}, { signal })).rejects.toThrow("Server exiting");
  });

  it.each(["", "  "])("refuses %j as a name", async (name) => {
    const bench = createServerBench();
    await bench.start();
    await expect(bench.load(name)).rejects.toMatchObject({
      code: "INVALID_ARG",
      message: "Model name cannot be empty. Please enter a valid name to deploy.",
    });
  });

  it.each(["..", " .. ", "a/b"])("refuses %j as a name", async (name) => {
    const bench = createServerBench();
    await bench.start();
    await expect(bench.load(name)).rejects.toMatchObject({
      code: "INVALID_ARG",
      message: `invalid model name '${name}', model name must not contain path traversal characters`,
    });
  });

  it("does not mind unloading what it does not know", async () => {
    const bench = createServerBench();
    await bench.start();
    await bench.unload("nobody");
    expect(await bench.index()).toEqual([]);
  });
});

describe("start", () => {
  it("ends the server when a model fails, after all were tried", async () => {
    const bench = createServerBench({
      models: { a: BROKEN, b: echoModel(), c: BROKEN },
      options: { modelControlMode: "none" },
    });
    await expect(bench.start()).rejects.toMatchObject({
      code: "INTERNAL",
      message: expect.stringMatching(
        /^failed to load all models: a: failed to load 'a', failed to poll .*; c: failed to load 'c'/,
      ) as string,
    });
    expect(bench.liveInstances).toBe(0);
    await expect(bench.infer("b", 1)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  it("goes on without the failed model where an option says so", async () => {
    const bench = createServerBench({
      models: { a: BROKEN, b: echoModel() },
      options: { modelControlMode: "none", exitOnError: false },
    });
    await bench.start();
    expect(await bench.index()).toEqual(["a", "b:1 READY"]);
    expect(bench.logger.lines).toContainEqual({
      level: "error",
      message: expect.stringMatching(/^failed to load all models: a: failed to load 'a'/) as string,
    });
  });

  it("counts an unreadable repository as a failure", async () => {
    const bench = createServerBench({ options: { modelControlMode: "none" } });
    bench.repository.failWith(new InferenceError("UNAVAILABLE", "offline"));
    await expect(bench.start()).rejects.toThrow("failed to load all models: memory: offline");
  });

  it("fails without its repository in mode explicit too, where nothing was to be loaded yet", async () => {
    const bench = createServerBench();
    bench.repository.failWith(new InferenceError("UNAVAILABLE", "no index.json"));
    await expect(bench.start()).rejects.toThrow("failed to load all models: memory: no index.json");
  });

  it("ends when nobody waits for it any more", async () => {
    const bench = createServerBench({
      models: { a: echoModel() },
      options: { modelControlMode: "none", exitOnError: false },
      backend: { onCreate: () => ({ kind: "create", latencyNs: 60 * SECOND }) },
    });
    const caller = new AbortController();
    const started = bench.server.start(caller.signal);
    await bench.until(() => bench.backend.creationCount === 1);
    caller.abort(new Error("the page was closed"));
    await expect(started).rejects.toThrow("the page was closed");
    expect(bench.liveInstances).toBe(0);
    expect(bench.clock.timerCount).toBe(0);
  });

  it("loads as many models at once as an option says", async () => {
    const models = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`m${String(i)}`, echoModel()]));
    const bench = createServerBench({
      models,
      options: { modelControlMode: "none", modelLoadThreadCount: 2 },
      backend: { onCreate: () => ({ kind: "create", latencyNs: SECOND }) },
    });
    const started = bench.start();
    await bench.until(() => bench.backend.creationCount === 2);
    await bench.clock.settle();
    expect(bench.backend.creationCount).toBe(2);
    await bench.clock.advance(3 * SECOND);
    await started;
    expect(bench.backend.creationCount).toBe(5);
  });

  it("loads at most four models at once", async () => {
    const models = Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`m${String(i)}`, echoModel()]));
    const bench = createServerBench({
      models,
      options: { modelControlMode: "none" },
      backend: { onCreate: () => ({ kind: "create", latencyNs: SECOND }) },
    });
    const started = bench.start();
    await bench.until(() => bench.backend.creationCount === 4);
    await bench.clock.settle();
    expect(bench.backend.creationCount).toBe(4);
    await bench.clock.advance(SECOND);
    await bench.until(() => bench.backend.creationCount === 6);
    await bench.clock.advance(SECOND);
    await started;
    expect(await bench.index()).toHaveLength(6);
  });
});

describe.each(["none", "poll"] as const)("mode %s", (modelControlMode) => {
  it("loads all models and refuses to be told which", async () => {
    const bench = createServerBench({
      models: { a: echoModel(), b: echoModel() },
      options: { modelControlMode },
    });
    await bench.start();
    expect(await bench.index()).toEqual(["a:1 READY", "b:1 READY"]);
    const refusal = {
      code: "UNAVAILABLE",
      message:
        "explicit model load / unload is not allowed if polling is enabled: this server was started in model " +
        `control mode '${modelControlMode}'; it is mode 'explicit' in which models are loaded and unloaded by request`,
    };
    await expect(bench.load("a")).rejects.toMatchObject(refusal);
    await expect(bench.unload("a")).rejects.toMatchObject(refusal);
  });
});

describe("mode none", () => {
  it("does not look again", async () => {
    const bench = createServerBench({ models: { a: echoModel() }, options: { modelControlMode: "none" } });
    await bench.start();
    bench.repository.put("a", echoModel([2]));
    await bench.clock.advance(60 * SECOND);
    expect(await bench.index()).toEqual(["a:1 READY"]);
    expect(bench.clock.timerCount).toBe(0);
  });
});

describe("mode poll", () => {
  const options = { modelControlMode: "poll", repositoryPollSecs: 15 } as const;

  it("loads what is new, loads anew what changed, unloads what is gone and leaves the rest alone", async () => {
    const bench = createServerBench({
      models: { same: echoModel(), changed: echoModel(), gone: echoModel() },
      options,
    });
    await bench.start();
    bench.repository.put("changed", echoModel([2]));
    bench.repository.put("new", echoModel());
    bench.repository.remove("gone");
    await bench.clock.advance(14 * SECOND);
    expect(await bench.index()).toEqual(["changed:1 READY", "new", "same:1 READY"]);
    const created = bench.backend.creationCount;
    await bench.clock.advance(SECOND);
    await bench.until(() => bench.backend.creationCount === created + 2);
    await bench.clock.settle();
    expect(await bench.index()).toEqual([
      "changed:1 UNAVAILABLE unloaded",
      "changed:2 READY",
      "new:1 READY",
      "same:1 READY",
    ]);
    await expect(bench.infer("gone", 1)).rejects.toThrow("'gone' has no available versions");
    expect(bench.liveInstances).toBe(3);
    await bench.server.stop();
    expect(bench.clock.timerCount).toBe(0);
  });

  it("goes on serving when the repository cannot be read, and catches up later", async () => {
    const bench = createServerBench({ models: { a: echoModel() }, options });
    await bench.start();
    bench.repository.failWith(new InferenceError("UNAVAILABLE", "offline"));
    bench.repository.put("a", echoModel([2]));
    await bench.clock.advance(15 * SECOND);
    expect(await bench.infer("a", 1)).toMatchObject({ modelVersion: "1" });
    expect(bench.logger.lines).toContainEqual({
      level: "error",
      message: "model repository 'memory' could not be read: offline",
    });
    bench.repository.failWith(undefined);
    await bench.clock.advance(15 * SECOND);
    await bench.until(() => bench.backend.creationCount === 2);
    await bench.clock.settle();
    expect(await bench.infer("a", 1)).toMatchObject({ modelVersion: "2" });
    await bench.server.stop();
  });

  it("tries a failed model again each time", async () => {
    let attempts = 0;
    const bench = createServerBench({
      models: { a: echoModel() },
      options: { ...options, exitOnError: false },
      backend: {
        onCreate: () => {
          attempts += 1;
          return attempts < 3
            ? { kind: "fail", error: new InferenceError("INTERNAL", "not yet") }
            : { kind: "create" };
        },
      },
    });
    await bench.start();
    expect(await bench.index()).toEqual(["a:1 UNAVAILABLE Internal: not yet"]);
    await bench.clock.advance(15 * SECOND);
    await bench.until(() => attempts === 2);
    await bench.clock.advance(15 * SECOND);
    await bench.until(() => attempts === 3);
    await bench.clock.settle();
    expect(await bench.index()).toEqual(["a:1 READY"]);
    await bench.server.stop();
  });
});

describe("index", () => {
  it("lists a model of two repositories as unusable", async () => {
    const bench = createServerBench({
      models: { a: echoModel(), b: echoModel() },
      moreRepositories: [createMemoryRepository({ b: echoModel(), c: echoModel() })],
    });
    await bench.start();
    await bench.load("c");
    expect(await bench.index()).toEqual([
      "a",
      "b UNAVAILABLE model appears in two or more repositories",
      "c:1 READY",
    ]);
    await expect(bench.load("b")).rejects.toMatchObject({
      code: "INTERNAL",
      message:
        "failed to load 'b', failed to poll from model repository: model appears in two or more repositories",
    });
    expect(await bench.server.repositoryIndex({ ready: true }, { signal })).toEqual([
      {
        name: "c",
        version: "1",
        state: "READY",
        instances: [{ name: "c_0", execution_provider: "other", build: "fake", threads: 1 }],
      },
    ]);
  });

  it("shows each state with its reason", async () => {
    const bench = createServerBench({
      models: {
        failed: echoModel(),
        loading: echoModel(),
        never: echoModel(),
        ready: echoModel(),
        unloaded: echoModel(),
        unloading: echoModel(),
      },
      backend: {
        onCreate: ({ instanceName }) => {
          if (instanceName.startsWith("failed"))
            return { kind: "fail", error: new InferenceError("INVALID_ARG", "bad") };
          return { kind: "create", latencyNs: instanceName.startsWith("loading") ? SECOND : 0 };
        },
        latencyNs: SECOND,
      },
    });
    await bench.start();
    for (const name of ["ready", "unloaded", "unloading"]) await bench.load(name);
    await expect(bench.load("failed")).rejects.toThrow();
    const loading = bench.load("loading");
    const running = bench.infer("unloading", 1);
    await bench.until(() => bench.backend.runningCount === 1);
    await bench.unload("unloading");
    await bench.unload("unloaded");
    await bench.clock.settle();
    expect(await bench.index()).toEqual([
      "failed:1 UNAVAILABLE Invalid argument: bad",
      "loading:1 LOADING",
      "never",
      "ready:1 READY",
      "unloaded:1 UNAVAILABLE unloaded",
      "unloading:1 UNLOADING",
    ]);
    await bench.clock.advance(SECOND);
    await Promise.all([loading, running]);
    await bench.clock.settle();
    expect(await bench.index()).toContain("unloading:1 UNAVAILABLE unloaded");
  });

  it("rejects when no repository can be read, and shows the rest when one can", async () => {
    const offline = createMemoryRepository({}, { id: "far" });
    const bench = createServerBench({ models: { a: echoModel() }, moreRepositories: [offline] });
    await bench.start();
    offline.failWith(new InferenceError("UNAVAILABLE", "offline"));
    expect(await bench.index()).toEqual(["a"]);
    bench.repository.failWith(new InferenceError("UNAVAILABLE", "gone"));
    await expect(bench.index()).rejects.toMatchObject({ code: "UNAVAILABLE", message: "gone" });
  });
});
