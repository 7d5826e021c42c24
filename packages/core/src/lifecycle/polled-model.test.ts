import { parseConfigText } from "@naiad/model-config";
import { createServerBench, ECHO_CONFIG, echoedValue, echoModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { configJson, POLL_FAILED } from "../../test/load-request.ts";
const { signal } = new AbortController();

describe("a load that cannot be polled", () => {
  it.each([
    ["is in no repository", {}, "model 'm' is not in any model repository"],
    [
      "has a configuration that does not parse",
      { m: { "config.pbtxt": 'backend: "fake"\nmax_batch_size: many' } },
      /^failed to read text proto from m\/config\.pbtxt:2:\d+: /,
    ],
    [
      "has a configuration of another model",
      { m: echoModel([1], 'name: "n"') },
      "unexpected directory name 'm' for model 'n', directory name must equal model name " +
        '(write name: "m" into its configuration or leave it out, or rename the directory)',
    ],
    [
      "says nothing of its backend",
      { m: { "1/something": "" } },
      "Invalid model name: Could not determine backend for model 'm' with no backend in model configuration. " +
        "Expected model name of the form 'model.<backend_name>'.",
    ],
    [
      "has an invalid configuration",
      { m: { "config.pbtxt": 'backend: "fake" max_batch_size: -1', "1/m": "" } },
      "'max_batch_size' must be non-negative value for m",
    ],
  ])("because it %s has Triton's text and the reason behind it", async (_why, models, reason) => {
    const bench = createServerBench({ models });
    await bench.start();
    const thrown: unknown = await bench.load("m").catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code: "INTERNAL" });
    const prefix = `failed to load 'm', ${POLL_FAILED}: `;
    const message = thrown instanceof Error ? thrown.message : "";
    expect(message.slice(0, prefix.length)).toBe(prefix);
    if (typeof reason === "string") expect(message.slice(prefix.length)).toBe(reason);
    else expect(message.slice(prefix.length)).toMatch(reason);
    expect(bench.logger.lines).toContainEqual({ level: "error", message });
    // It leaves no trace in index and readiness.
    expect(await bench.index()).toEqual(Object.keys(models));
    expect(await bench.server.serverReady({}, { signal })).toEqual({ ready: true });
  });

  it("needs a configuration where auto-complete is off", async () => {
    const bench = createServerBench({
      models: { "m.fake": { "1/model": "" } },
      options: { disableAutoCompleteConfig: true },
    });
    await bench.start();
    await expect(bench.load("m.fake")).rejects.toThrow(
      `failed to load 'm.fake', ${POLL_FAILED}: failed to open text file for read m.fake/config.pbtxt`,
    );
  });
});

describe("configuration", () => {
  it("may be a config.json, which a config.pbtxt beside it outdoes", async () => {
    const bench = createServerBench({
      models: {
        json: { "config.json": configJson(), "1/m": "" },
        both: { ...echoModel(), "config.json": "not even JSON" },
      },
    });
    await bench.start();
    await bench.load("json");
    await bench.load("both");
    expect(echoedValue(await bench.infer("json", 3))).toBe(3);
  });

  it.each([
    ["alt", 7],
    ["other", 4],
    ["", 4],
  ])("is the one of the name %j where a model has that", async (modelConfigName, expected) => {
    const bench = createServerBench({
      models: {
        m: {
          ...echoModel(),
          "configs/alt.pbtxt": ECHO_CONFIG.replace("max_batch_size: 4", "max_batch_size: 7"),
        },
      },
      options: { modelConfigName },
    });
    await bench.start();
    await bench.load("m");
    const { max_batch_size } = await bench.server.modelConfig(
      { modelName: "m", modelVersion: "" },
      { signal },
    );
    expect(max_batch_size).toBe(expected);
    // Neither it nor its neighbours belong to the files of a version.
    expect(bench.repository.reads.filter((path) => path.includes("configs"))).toHaveLength(
      modelConfigName === "alt" ? 1 : 0,
    );
  });

  it("of an own name that does not parse is named in the error", async () => {
    const bench = createServerBench({
      models: { m: { ...echoModel(), "configs/alt.pbtxt": "max_batch_size: x" } },
      options: { modelConfigName: "alt" },
    });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow("failed to read text proto from m/configs/alt.pbtxt:1:17");
  });

  it("may be absent, and the backend completes it", async () => {
    const complete = parseConfigText(ECHO_CONFIG, { fileName: "config.pbtxt" });
    const bench = createServerBench({
      models: { "m.fake": { "1/model": "weights" } },
      prepare: ({ config, files }, { autoComplete }) => {
        expect(autoComplete).toBe(true);
        expect(files.entries.map(({ path }) => path)).toEqual(["1/model"]);
        const { maxBatchSize, input, output } = complete;
        return Promise.resolve({ ...config, maxBatchSize, input, output });
      },
    });
    await bench.start();
    await bench.load("m.fake");
    expect(echoedValue(await bench.infer("m.fake", 6))).toBe(6);
  });

  it("that the backend completed wrongly is refused", async () => {
    const bench = createServerBench({
      models: { m: echoModel() },
      prepare: (model) =>
        Promise.resolve({
          ...model.config,
          input: model.config.input.map((input) => ({ ...input, dims: [] })),
        }),
    });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow(
      "version 1 is at UNAVAILABLE state: Invalid argument: model input 'x' must specify 'dims' for m;\n",
    );
    expect(bench.backend.creationCount).toBe(0);
  });

  it.each([
    ["response_cache", "response_cache { enable: true }"],
    ["instance_group.host_policy", 'instance_group { kind: KIND_CPU host_policy: "numa_0" }'],
  ])("that asks for %s is loaded with a warning", async (feature, config) => {
    const bench = createServerBench({ models: { m: echoModel([1], config) } });
    await bench.start();
    await bench.load("m");
    expect(bench.logger.lines).toContainEqual({
      level: "warning",
      message: `model 'm' asks for ${feature}, which this server does not have`,
    });
  });
});

describe("backends", () => {
  it.each([
    [
      "tensorrt_plan",
      /^unable to find backend library for backend 'tensorrt', try specifying runtime on the model configuration\. In a browser: .*ONNX/,
    ],
    [
      "pytorch_libtorch",
      /^unable to find backend library for backend 'pytorch', try specifying runtime on the model configuration\. In a browser: .*torch\.onnx/,
    ],
    [
      "tensorflow_savedmodel",
      /^unable to find backend library for backend 'tensorflow', .* In a browser: .*tf2onnx/,
    ],
  ])("refuse platform %s with advice", async (platform, reason) => {
    const bench = createServerBench({
      models: { m: { "config.pbtxt": `platform: "${platform}"`, "1/m": "" } },
    });
    await bench.start();
    const prefix = "load failed for model 'm': version 1 is at UNAVAILABLE state: Invalid argument: ";
    const thrown: unknown = await bench.load("m").catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code: "INVALID_ARG" });
    const message = thrown instanceof Error ? thrown.message : "";
    expect(message.slice(0, prefix.length)).toBe(prefix);
    expect(message.slice(prefix.length)).toMatch(reason);
    // Nothing but the configuration was downloaded.
    expect(bench.repository.reads).toEqual(["m/config.pbtxt"]);
  });

  it("name those that are there when one is unknown", async () => {
    const bench = createServerBench({ models: { m: { "config.pbtxt": 'backend: "own"', "1/m": "" } } });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow("In a browser: this server has 'fake'");
  });

  it.each([
    ['platform: "ensemble"', "Ensemble model 'm' must have platform type 'ensemble' and empty backend type"],
  ])("do not serve %s", async (config, reason) => {
    const bench = createServerBench({ models: { m: echoModel([1], config) } });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow(reason);
    expect(bench.backend.creationCount).toBe(0);
  });
});
