import { decodeStringElements, InferenceError } from "@naiad/protocol";
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

describe("metadata", () => {
  it("names the server and what it can do", async () => {
    const { server } = createServerBench({ options: { id: "mine" } });
    expect(await server.serverMetadata({}, context)).toEqual({
      name: "mine",
      version: "0.0.0-test",
      extensions: [
        "classification",
        "sequence",
        "model_repository",
        "model_repository(unload_dependents)",
        "schedule_policy",
        "model_configuration",
        "binary_tensor_data",
        "parameters",
        "statistics",
        "trace",
        "logging",
      ],
      parameters: { clock_resolution_ns: 1 },
    });
  });

  it("describes a model as its clients see it", async () => {
    const bench = createServerBench({ models: { m: echoModel([1, 2, 10], "version_policy { all {} }") } });
    await bench.start();
    await bench.load("m");
    const tensor = { datatype: "INT32", shape: [-1, 1] };
    const expected = {
      name: "m",
      versions: ["1", "2", "10"],
      platform: "fake",
      inputs: [{ name: "x", ...tensor }],
      outputs: [{ name: "y", ...tensor }],
    };
    const { server } = bench;
    expect(await server.modelMetadata({ modelName: "m", modelVersion: "" }, context)).toEqual(expected);
    expect(await server.modelMetadata({ modelName: "m", modelVersion: "-1" }, context)).toEqual(expected);
    expect(await server.modelMetadata({ modelName: "m", modelVersion: "2" }, context)).toEqual({
      ...expected,
      versions: ["2"],
    });
  });

  it("leaves the batch dimension out where a model does not batch", async () => {
    const bench = createServerBench({
      models: {
        m: {
          "config.pbtxt": `backend: "fake" platform: "special" input { name: "x" data_type: TYPE_STRING dims: [-1, 3] } output { name: "y" data_type: TYPE_BOOL dims: [2] }`,
          "1/model": "",
        },
      },
    });
    await bench.start();
    await bench.load("m");
    expect(await bench.server.modelMetadata({ modelName: "m", modelVersion: "" }, context)).toMatchObject({
      platform: "special",
      inputs: [{ datatype: "BYTES", shape: [-1, 3] }],
      outputs: [{ datatype: "BOOL", shape: [2] }],
    });
  });

  it("shows the normalised configuration", async () => {
    const bench = createServerBench({ models: { m: echoModel([1], "dynamic_batching {}") } });
    await bench.start();
    await bench.load("m");
    expect(await bench.server.modelConfig({ modelName: "m", modelVersion: "" }, context)).toMatchObject({
      name: "m",
      backend: "fake",
      max_batch_size: 4,
      version_policy: { latest: { num_versions: 1 } },
      dynamic_batching: { preferred_batch_size: [4] },
      instance_group: [{ name: "m", kind: "KIND_CPU", count: 1 }],
    });
  });
});

describe("lookup", () => {
  it("has Triton's texts for everything that is not there", async () => {
    const bench = createServerBench({ models: { m: echoModel() } });
    await bench.start();
    await expect(bench.infer("m", 1)).rejects.toMatchObject(
      error("NOT_FOUND", "Request for unknown model: 'm' is not found"),
    );
    await bench.load("m");
    await expect(bench.infer("m", 1, { version: "7" })).rejects.toMatchObject(
      error("NOT_FOUND", "Request for unknown model: 'm' version 7 is not found"),
    );
    await bench.unload("m");
    await expect(bench.infer("m", 1)).rejects.toMatchObject(
      error("NOT_FOUND", "Request for unknown model: 'm' has no available versions"),
    );
    await expect(bench.infer("m", 1, { version: "1" })).rejects.toMatchObject(
      error("UNAVAILABLE", "Request for unknown model: 'm' version 1 is not at ready state"),
    );
  });

  it.each(["x", "1.5", "99999999999999999999", " 1"])("refuses %j as a version", async (version) => {
    const bench = createServerBench({ models: { m: echoModel() } });
    await bench.start();
    await bench.load("m");
    await expect(bench.infer("m", 1, { version })).rejects.toMatchObject(
      error(
        "INVALID_ARG",
        `failed to get model version from specified version string '${version}' (details: stol), version should be an integral value > 0`,
      ),
    );
  });

  it.each(["9007199254740993", "9223372036854775807"])("names version %s exactly", async (modelVersion) => {
    const bench = createServerBench({ models: { m: echoModel() } });
    await bench.start();
    await bench.load("m");
    const reference = { modelName: "m", modelVersion };
    const unknown = error("NOT_FOUND", `Request for unknown model: 'm' version ${modelVersion} is not found`);
    await expect(bench.server.modelReady(reference, context)).rejects.toMatchObject(unknown);
    await expect(bench.server.modelMetadata(reference, context)).rejects.toMatchObject(unknown);
    await expect(bench.server.modelConfig(reference, context)).rejects.toMatchObject(unknown);
    await expect(
      bench.server.modelInfer({ ...echoRequest("m", 1), modelVersion }, context),
    ).rejects.toMatchObject(unknown);
  });

  it("says of known models whether they are ready, and of unknown ones that they are not found", async () => {
    const bench = createServerBench({ models: { m: echoModel([1, 2]) } });
    const ready = (modelVersion: string, modelName = "m"): Promise<object> =>
      bench.server.modelReady({ modelName, modelVersion }, context);
    await bench.start();
    await bench.load("m");
    expect(await ready("")).toEqual({ ready: true });
    expect(await ready("2")).toEqual({ ready: true });
    await expect(ready("1")).rejects.toMatchObject(
      error("NOT_FOUND", "Request for unknown model: 'm' version 1 is not found"),
    );
    await expect(ready("", "z")).rejects.toMatchObject(
      error("NOT_FOUND", "Request for unknown model: 'z' is not found"),
    );
    await bench.unload("m");
    expect(await ready("")).toEqual({ ready: false });
    expect(await ready("2")).toEqual({ ready: false });
  });
});

describe("inference", () => {
  it("answers with the model's output", async () => {
    const bench = createServerBench({ models: { m: echoModel([3]) } });
    await bench.start();
    await bench.load("m");
    const response = await bench.infer("m", 42, { id: "r1" });
    expect(response).toMatchObject({ modelName: "m", modelVersion: "3", id: "r1", parameters: {} });
    expect(response.outputs.map(({ name, datatype, shape }) => ({ name, datatype, shape }))).toEqual([
      { name: "y", datatype: "INT32", shape: [1, 1] },
    ]);
    expect(echoedValue(response)).toBe(42);
  });

  it("takes the greatest version when none is named", async () => {
    const bench = createServerBench({ models: { m: echoModel([9, 10], "version_policy { all {} }") } });
    await bench.start();
    await bench.load("m");
    expect(await bench.infer("m", 1)).toMatchObject({ modelVersion: "10" });
    expect(await bench.infer("m", 1, { version: "9" })).toMatchObject({ modelVersion: "9" });
  });

  it("refuses what does not fit the model", async () => {
    const bench = createServerBench({ models: { m: echoModel() } });
    await bench.start();
    await bench.load("m");
    const request = { ...echoRequest("m", 1), outputs: [{ name: "nope" }] };
    await expect(bench.server.modelInfer(request, context)).rejects.toMatchObject(
      error("INVALID_ARG", "unexpected inference output 'nope' for model 'm'"),
    );
  });

  it("shows an output in the shape of its dims where the model has another", async () => {
    const config = `
      backend: "fake"
      max_batch_size: 4
      input { name: "x" data_type: TYPE_INT32 dims: [2, 2] reshape { shape: [4] } }
      output { name: "y" data_type: TYPE_INT32 dims: [4, 1] reshape { shape: [4] } }
    `;
    const bench = createServerBench({
      models: { m: { "config.pbtxt": config, "1/model.fake": "version 1" } },
    });
    await bench.start();
    await bench.load("m");
    const bytes = new Uint8Array(Int32Array.from([1, 2, 3, 4]).buffer);
    const response = await bench.server.modelInfer(
      {
        ...echoRequest("m", 1),
        inputs: [{ kind: "bytes", name: "x", datatype: "INT32", shape: [1, 2, 2], bytes }],
      },
      context,
    );
    expect(response.outputs).toMatchObject([{ name: "y", shape: [1, 4, 1], bytes }]);
  });

  it("refuses a decoupled model, which may give any number of answers", async () => {
    const bench = createServerBench({
      models: { m: echoModel([1], "model_transaction_policy { decoupled: true }") },
    });
    await bench.start();
    await bench.load("m");
    await expect(bench.infer("m", 1)).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: "HTTP end point doesn't support models with decoupled transaction policy",
    });
  });

  it("answers with the best classes and their labels where a request asks for them", async () => {
    const config = `
      backend: "fake" max_batch_size: 4
      input { name: "x" data_type: TYPE_INT32 dims: [3] }
      output { name: "y" data_type: TYPE_INT32 dims: [3] label_filename: "labels.txt" }
    `;
    const bench = createServerBench({
      models: { m: { "config.pbtxt": config, "1/m": "", "labels.txt": "cat\r\ndog\n" } },
    });
    await bench.start();
    await bench.load("m");
    const bytes = new Uint8Array(Int32Array.of(5, 7, 6).buffer);
    const request = {
      ...echoRequest("m", 0),
      inputs: [{ kind: "bytes", name: "x", datatype: "INT32", shape: [1, 3], bytes }],
      outputs: [{ name: "y", classCount: 2 }],
    } as const;
    const { outputs } = await bench.server.modelInfer(request, context);
    expect(outputs).toMatchObject([{ name: "y", datatype: "BYTES", shape: [1, 2] }]);
    const [output] = outputs;
    expect(output?.kind === "bytes" && decodeStringElements(output.bytes, "y")).toEqual(["7:1:dog", "6:2"]);
  });

  it("does not load a model whose label file is not there", async () => {
    const config = `
      backend: "fake"
      input { name: "x" data_type: TYPE_INT32 dims: [3] }
      output { name: "y" data_type: TYPE_INT32 dims: [3] label_filename: "labels.txt" }
    `;
    const bench = createServerBench({ models: { m: { "config.pbtxt": config, "1/m": "" } } });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow(
      "Internal: failed to open text file for read m/labels.txt: No such file or directory",
    );
    expect(bench.backend.creationCount).toBe(0);
  });

  it("passes a backend's error on", async () => {
    const bench = createServerBench({
      models: { m: echoModel() },
      backend: { onExecute: () => ({ kind: "fail", error: { code: "INTERNAL", message: "kaputt" } }) },
    });
    await bench.start();
    await bench.load("m");
    await expect(bench.infer("m", 1)).rejects.toMatchObject(error("INTERNAL", "kaputt"));
  });

  it("answers an aborted request at once, while its batch still runs", async () => {
    const bench = createServerBench({ models: { m: echoModel() }, backend: { latencyNs: 10 * MS } });
    await bench.start();
    await bench.load("m");
    const client = new AbortController();
    const answer = bench.infer("m", 1, { signal: client.signal });
    await bench.until(() => bench.backend.runningCount === 1);
    client.abort();
    await expect(answer).rejects.toMatchObject({ code: "CANCELLED" });
    expect(bench.backend.runningCount).toBe(1);
    await bench.clock.drain();
  });

  it("does not begin an aborted request", async () => {
    const bench = createServerBench({ models: { m: echoModel() } });
    await bench.start();
    await bench.load("m");
    const client = new AbortController();
    client.abort();
    await expect(bench.infer("m", 1, { signal: client.signal })).rejects.toMatchObject({ code: "CANCELLED" });
    expect(bench.backend.executions).toEqual([]);
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
