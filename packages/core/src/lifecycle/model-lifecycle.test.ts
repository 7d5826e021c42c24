import { parseConfigText } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";
import { createServerBench, ECHO_CONFIG, echoedValue, echoModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";

const MS = 1_000_000;
const { signal } = new AbortController();
const POLL_FAILED = "failed to poll from model repository";

/** A configuration for a load request. */
function configJson(changes: object = {}): string {
  return JSON.stringify({
    backend: "fake",
    max_batch_size: 4,
    input: [{ name: "x", data_type: "TYPE_INT32", dims: [1] }],
    output: [{ name: "y", data_type: "TYPE_INT32", dims: [1] }],
    ...changes,
  });
}

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

describe("devices", () => {
  const gpu = {
    index: 0,
    vendor: "acme",
    architecture: "",
    description: "",
    isFallback: false,
    features: [],
    maxBufferSize: 2 ** 28,
    maxStorageBufferBindingSize: 2 ** 28,
    maxStorageBuffersPerShaderStage: 8,
  };
  const onGpu = "instance_group { kind: KIND_GPU }";
  const refuseGpu = {
    onCreate: ({ device }: { readonly device: { readonly kind: string } }) =>
      device.kind === "gpu"
        ? ({
            kind: "fail",
            error: new InferenceError("UNSUPPORTED", "no kernel for StringNormalizer"),
          } as const)
        : ({ kind: "create" } as const),
  };

  it("a GPU that cannot run the model gives way to the CPU, with a note in log, index and report", async () => {
    const bench = createServerBench({
      models: { m: echoModel([1], onGpu) },
      capabilities: { gpus: [gpu] },
      backend: refuseGpu,
    });
    await bench.start();
    await bench.load("m");
    const note = "runs on the CPU because the GPU cannot run it: no kernel for StringNormalizer";
    expect(bench.server.instances()).toMatchObject([{ instanceName: "m_0_0", state: "ready", note }]);
    expect(await bench.index()).toEqual([`m:1 READY instance m_0_0 ${note}`]);
    expect(bench.logger.lines).toContainEqual({
      level: "warning",
      message: `instance m_0_0 of model m ${note}`,
    });
    expect(bench.backend.creationCount).toBe(2);
    bench.backend.lose("m_0_0");
    await bench.until(() => bench.server.instances()[0]?.replacements === 1);
    // The replacement does not ask the GPU again.
    expect(bench.backend.creationCount).toBe(3);
    expect(echoedValue(await bench.infer("m", 1))).toBe(1);
  });

  it("an option makes that an error for KIND_GPU", async () => {
    const bench = createServerBench({
      models: { m: echoModel([1], onGpu) },
      capabilities: { gpus: [gpu] },
      options: { gpuFallback: "error" },
      backend: refuseGpu,
    });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow("Unsupported: no kernel for StringNormalizer");
    expect(bench.liveInstances).toBe(0);
  });

  it("other errors of a GPU are errors", async () => {
    const bench = createServerBench({
      models: { m: echoModel([1], onGpu) },
      capabilities: { gpus: [gpu] },
      backend: { onCreate: () => ({ kind: "fail", error: new InferenceError("INTERNAL", "out of memory") }) },
    });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow("Internal: out of memory");
    expect(bench.backend.creationCount).toBe(1);
  });

  it("a tensor that no buffer of the GPU can hold sends the model to the CPU", async () => {
    const bench = createServerBench({
      models: { m: echoModel([1], onGpu) },
      capabilities: { gpus: [{ ...gpu, maxBufferSize: 8 }] },
    });
    await bench.start();
    await bench.load("m");
    expect(bench.server.instances()).toMatchObject([
      { note: "runs on the CPU: tensor 'x' can have 16 bytes, but a buffer of the GPU has at most 8 bytes" },
    ]);
    expect(bench.logger.lines.map(({ level }) => level)).toContain("warning");
  });

  it("a GPU that is not there is refused before anything is downloaded", async () => {
    const bench = createServerBench({
      models: { m: echoModel([1], "instance_group { kind: KIND_GPU gpus: [1] }") },
      capabilities: { gpus: [gpu] },
    });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow(
      "instance group m_0 of model m specifies invalid or unsupported gpu id 1.",
    );
    expect(bench.repository.reads).toEqual(["m/config.pbtxt"]);
  });

  it("files that cannot fit are refused before they are downloaded", async () => {
    const bench = createServerBench({
      models: { m: echoModel() },
      capabilities: { wasmMemoryLimitBytes: 9 },
    });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow(
      "Unsupported: unable to load model 'm': its files have 9 bytes, but an instance on the CPU has at most 9 bytes of WebAssembly memory",
    );
    expect(bench.repository.reads).toEqual(["m/config.pbtxt"]);
  });

  it("little storage is only a warning", async () => {
    const bench = createServerBench({
      models: { m: echoModel() },
      capabilities: { storageAvailableBytes: 1 },
    });
    await bench.start();
    await bench.load("m");
    const [, warning] = bench.logger.lines;
    expect(warning?.level).toBe("warning");
    expect(warning?.message).toContain("9 bytes must be downloaded");
  });
});
