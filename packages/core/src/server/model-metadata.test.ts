import { createServerBench, echoModel, echoRequest } from "@naiad/testing";
import { describe, expect, it } from "vitest";

const { signal } = new AbortController();
const context = { signal };

function error(code: string, message: string): object {
  return { code, message };
}

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
