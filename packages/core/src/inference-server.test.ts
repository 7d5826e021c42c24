import { InferenceError } from "@naiad/protocol";
import { createServerBench, echoedValue, echoModel, echoRequest } from "@naiad/testing";
import { describe, expect, it } from "vitest";

const { signal } = new AbortController();
const context = { signal };
const MS = 1_000_000;

function error(code: string, message: string): object {
  return { code, message };
}

describe("health", () => {
  it("is neither live nor ready before it was started, and refuses everything else", async () => {
    const { server } = createServerBench();
    expect(await server.serverLive({}, context)).toEqual({ live: false });
    expect(await server.serverReady({}, context)).toEqual({ ready: false });
    const notReady = error("UNAVAILABLE", "Server not ready");
    const reference = { modelName: "m", modelVersion: "" };
    await expect(server.modelInfer(echoRequest("m", 1), context)).rejects.toMatchObject(notReady);
    await expect(server.modelReady(reference, context)).rejects.toMatchObject(notReady);
    await expect(server.modelMetadata(reference, context)).rejects.toMatchObject(notReady);
    await expect(server.modelConfig(reference, context)).rejects.toMatchObject(notReady);
    await expect(server.modelStatistics(reference, context)).rejects.toMatchObject(notReady);
    await expect(server.repositoryIndex({ ready: false }, context)).rejects.toMatchObject(notReady);
    await expect(server.repositoryModelLoad({ modelName: "m" }, context)).rejects.toMatchObject(notReady);
    await expect(
      server.repositoryModelUnload({ modelName: "m", unloadDependents: false }, context),
    ).rejects.toMatchObject(notReady);
  });

  it("is live, and not yet ready, while models are loaded", async () => {
    const bench = createServerBench({ models: { m: echoModel() }, options: { modelControlMode: "none" } });
    const started = bench.start();
    expect(await bench.server.serverLive({}, context)).toEqual({ live: true });
    expect(await bench.server.serverReady({}, context)).toEqual({ ready: false });
    await started;
    expect(await bench.server.serverReady({}, context)).toEqual({ ready: true });
  });

  it("is ready without any model", async () => {
    const bench = createServerBench();
    await bench.start();
    expect(await bench.server.serverLive({}, context)).toEqual({ live: true });
    expect(await bench.server.serverReady({}, context)).toEqual({ ready: true });
  });

  it.each([
    [true, false],
    [false, true],
  ])("with strict readiness %s and a failed model, ready is %s", async (strictReadiness, ready) => {
    const bench = createServerBench({
      models: { m: echoModel() },
      options: { strictReadiness },
      backend: { onCreate: () => ({ kind: "fail", error: new InferenceError("INTERNAL", "no") }) },
    });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow();
    expect(await bench.server.serverReady({}, context)).toEqual({ ready });
    await bench.unload("m");
    expect(await bench.server.serverReady({}, context)).toEqual({ ready });
    // As in Triton: there is nothing to unload, so nothing changes.
    expect(await bench.index()).toEqual(["m:1 UNAVAILABLE Internal: no"]);
  });

  it("is ready again after a model was unloaded on purpose", async () => {
    const bench = createServerBench({ models: { m: echoModel() } });
    await bench.start();
    await bench.load("m");
    await bench.unload("m");
    await bench.clock.settle();
    expect(await bench.server.serverReady({}, context)).toEqual({ ready: true });
  });

  it("is not ready while every instance of a model is given up", async () => {
    let isBroken = false;
    const failure = new InferenceError("INTERNAL", "no memory");
    const bench = createServerBench({
      models: { m: echoModel() },
      backend: { onCreate: () => (isBroken ? { kind: "fail", error: failure } : { kind: "create" }) },
    });
    await bench.start();
    await bench.load("m");
    isBroken = true;
    bench.backend.lose("m_0");
    await bench.finish();
    expect(bench.server.instances()).toMatchObject([{ state: "lost" }]);
    expect(await bench.server.modelReady({ modelName: "m", modelVersion: "1" }, context)).toEqual({
      ready: false,
    });
    expect(await bench.server.serverReady({}, context)).toEqual({ ready: false });
  });

  it("answers that it exits once it was stopped", async () => {
    const bench = createServerBench();
    await bench.start();
    await bench.server.stop();
    const exiting = error("UNAVAILABLE", "Server exiting");
    await expect(bench.server.serverLive({}, context)).rejects.toMatchObject(exiting);
    await expect(bench.server.serverReady({}, context)).rejects.toMatchObject(exiting);
    await expect(bench.infer("m", 1)).rejects.toMatchObject(error("UNAVAILABLE", "Server not ready"));
  });
});

describe("statistics", () => {
  it("counts per ready version", async () => {
    const models = { b: echoModel([1, 2], "version_policy { all {} }"), a: echoModel() };
    const bench = createServerBench({ models });
    await bench.start();
    await bench.load("b");
    await bench.load("a");
    await bench.infer("b", 1, { version: "1" });
    const stats = async (modelName: string, modelVersion = ""): Promise<readonly string[]> => {
      const { model_stats } = await bench.server.modelStatistics({ modelName, modelVersion }, context);
      return model_stats.map(
        ({ name, version, inference_count }) => `${name}:${version} ${String(inference_count)}`,
      );
    };
    expect(await stats("")).toEqual(["a:1 0", "b:1 1", "b:2 0"]);
    expect(await stats("b")).toEqual(["b:1 1", "b:2 0"]);
    expect(await stats("b", "1")).toEqual(["b:1 1"]);
    await expect(stats("b", "3")).rejects.toMatchObject(
      error("INVALID_ARG", "requested model version is not available for model 'b'"),
    );
    await expect(stats("z")).rejects.toMatchObject(
      error("INVALID_ARG", "requested model 'z' is not available"),
    );
    await bench.unload("a");
    await expect(stats("a")).rejects.toMatchObject(
      error("INVALID_ARG", "requested model 'a' is not available"),
    );
  });

  it("begins anew with every load", async () => {
    const bench = createServerBench({ models: { m: echoModel() } });
    await bench.start();
    await bench.load("m");
    await bench.infer("m", 1);
    bench.repository.put("m", { ...echoModel(), "labels.txt": "new" });
    await bench.load("m");
    const { model_stats } = await bench.server.modelStatistics({ modelName: "m", modelVersion: "" }, context);
    expect(model_stats).toMatchObject([{ inference_count: 0 }]);
  });
});

describe("events", () => {
  it("tell of downloads, creation, states and log lines until the listener leaves", async () => {
    const bench = createServerBench({ models: { m: echoModel() } });
    const lines: string[] = [];
    const leave = bench.server.subscribe((event) => {
      if (event.kind === "log") lines.push(event.message);
    });
    await bench.start();
    await bench.load("m");
    expect(
      bench.events.map((event) =>
        event.kind === "progress"
          ? `${event.phase} ${event.path} ${String(event.loadedBytes)}/${String(event.totalBytes)}`
          : event.kind === "model"
            ? `${event.modelName}:${event.version} ${event.state}`
            : "",
      ),
    ).toEqual([
      expect.stringMatching(/^download config\.pbtxt (\d+)\/\1$/),
      expect.stringMatching(/^verify config\.pbtxt (\d+)\/\1$/),
      "m:1 LOADING",
      "download 1/model.fake 9/9",
      "verify 1/model.fake 9/9",
      "create 1 0/9",
      "create 1 9/9",
      "m:1 READY",
    ]);
    expect(lines).toEqual([
      "loading: m:1",
      "instance m_0 of model m runs on other (build fake), 1 thread",
      "successfully loaded 'm'",
    ]);
    expect(bench.logger.lines.map(({ message }) => message)).toEqual(lines);
    leave();
    await bench.unload("m");
    expect(lines).toHaveLength(3);
  });
});

describe("instances", () => {
  it("say what they run on", async () => {
    const bench = createServerBench({
      models: { m: echoModel([1], "instance_group { kind: KIND_CPU count: 2 }") },
    });
    await bench.start();
    await bench.load("m");
    await bench.infer("m", 1);
    const device = { executionProvider: "other", build: "fake", threads: 1 };
    const common = { modelName: "m", version: "1", state: "ready", device, replacements: 0 };
    expect(bench.server.instances()).toEqual([
      { ...common, instanceName: "m_0_0", executionCount: 1 },
      { ...common, instanceName: "m_0_1", executionCount: 0 },
    ]);
    await bench.unload("m");
    expect(bench.server.instances()).toEqual([]);
  });
});

describe("stop", () => {
  it("answers accepted requests, refuses new ones and frees everything", async () => {
    const bench = createServerBench({ models: { m: echoModel() }, backend: { latencyNs: 5 * MS } });
    await bench.start();
    await bench.load("m");
    const accepted = bench.infer("m", 7);
    await bench.until(() => bench.backend.runningCount === 1);
    const stopped = bench.server.stop();
    await expect(bench.infer("m", 8)).rejects.toMatchObject(error("UNAVAILABLE", "Server not ready"));
    await bench.clock.advance(5 * MS);
    expect(echoedValue(await accepted)).toBe(7);
    await stopped;
    expect(bench.liveInstances).toBe(0);
    expect(bench.clock.timerCount).toBe(0);
    await bench.server.stop();
  });

  it("ends a load that is going on", async () => {
    const bench = createServerBench({
      models: { m: echoModel() },
      backend: { onCreate: () => ({ kind: "create", latencyNs: 1000 * MS }) },
    });
    await bench.start();
    const load = bench.load("m");
    await bench.until(() => bench.backend.creationCount === 1);
    const stopped = bench.server.stop();
    await expect(load).rejects.toThrow(
      "load failed for model 'm': version 1 is at UNAVAILABLE state: Cancelled: ",
    );
    await stopped;
    expect(bench.liveInstances).toBe(0);
    expect(bench.clock.timerCount).toBe(0);
  });

  it.each([30, 2])("gives up waiting after %i seconds where an option says so", async (exitTimeoutSecs) => {
    const bench = createServerBench({
      models: { m: echoModel() },
      options: { exitTimeoutSecs },
      backend: { onExecute: ({ generation }) => ({ kind: generation === 0 ? "hang" : "complete" }) },
    });
    await bench.start();
    await bench.load("m");
    const hanging = bench.infer("m", 1);
    await bench.until(() => bench.backend.runningCount === 1);
    const stopped = bench.server.stop();
    await bench.clock.advance((exitTimeoutSecs * 1000 - 1) * MS);
    expect(bench.logger.lines.some(({ message }) => message.startsWith("Exit timeout"))).toBe(false);
    await bench.clock.advance(MS);
    await stopped;
    expect(bench.logger.lines.at(-1)).toEqual({
      level: "error",
      message: "Exit timeout expired. Exiting immediately.",
    });
    bench.backend.lose("m_0");
    expect(echoedValue(await hanging)).toBe(1);
  });
});
