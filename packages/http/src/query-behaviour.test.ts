import type { JsonValue } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { echoModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import type { Answer, HttpBench } from "../test/http-bench.ts";
import { createHttpBench } from "../test/http-bench.ts";
import { fakeModel } from "../test/models.ts";

/** Health, metadata, configuration, statistics and repository, as Triton's suites ask for them. */
const REQUEST = { inputs: [{ name: "x", shape: [2, 1], datatype: "INT32", data: [1, 2] }] };

function outcome({ status, text }: Answer): readonly [number, string] {
  return [status, text];
}

function refused(status: number, error: string): readonly [number, string] {
  return [status, JSON.stringify({ error })];
}

function startBench(load: readonly string[] = ["m"]): Promise<HttpBench> {
  return createHttpBench({
    models: {
      m: echoModel([1, 3], "version_policy { all {} }"),
      idle: echoModel(),
      broken: { ...echoModel(), "config.pbtxt": "no configuration" },
      bad: echoModel(),
    },
    backend: {
      onCreate: ({ instanceName }) =>
        instanceName.startsWith("bad")
          ? { kind: "fail", error: new InferenceError("INTERNAL", "no memory") }
          : { kind: "create" },
    },
    load,
  });
}

describe("health", () => {
  it("is told by the status alone", async () => {
    const { get, post } = await startBench();
    for (const target of [
      "/v2/health/live",
      "/v2/health/ready",
      "/v2/models/m/ready",
      "/v2/models/m/versions/3/ready",
    ]) {
      expect(outcome(await get(target))).toEqual([200, ""]);
      expect(outcome(await post(target))).toEqual(refused(405, "Method Not Allowed"));
    }
    expect((await get("/v2/health/")).status).toBe(404);
  });

  it("fails with 400 while a model could not be loaded", async () => {
    const { get, bench } = await startBench();
    await expect(bench.load("bad")).rejects.toThrow();
    expect(outcome(await get("/v2/health/ready"))).toEqual([400, ""]);
    expect(outcome(await get("/v2/health/live"))).toEqual([200, ""]);
  });

  it("of a model", async () => {
    const { get, bench } = await startBench();
    expect(outcome(await get("/v2/models/nobody/ready"))).toEqual(
      refused(404, "Request for unknown model: 'nobody' is not found"),
    );
    expect(outcome(await get("/v2/models/m/versions/2/ready"))).toEqual(
      refused(404, "Request for unknown model: 'm' version 2 is not found"),
    );
    await bench.unload("m");
    expect(outcome(await get("/v2/models/m/ready"))).toEqual(refused(400, "Model version not ready"));
  });

  it("ends with the server", async () => {
    const { get, bench } = await startBench();
    const stopping = bench.server.stop();
    for (const target of ["/v2/health/live", "/v2/health/ready"]) {
      expect(outcome(await get(target))).toEqual(refused(503, "Server exiting"));
    }
    expect(outcome(await get("/v2/models/m"))).toEqual(refused(503, "Server not ready"));
    await stopping;
  });
});

describe("metadata", () => {
  it("of a model name its ready versions, of one version only that", async () => {
    const { get } = await startBench();
    const tensors =
      '"platform":"fake","inputs":[{"name":"x","datatype":"INT32","shape":[-1,1]}],"outputs":[{"name":"y","datatype":"INT32","shape":[-1,1]}]}';
    expect((await get("/v2/models/m")).text).toBe(`{"name":"m","versions":["1","3"],${tensors}`);
    expect((await get("/v2/models/m/versions/1")).text).toBe(`{"name":"m","versions":["1"],${tensors}`);
  });

  it.each([
    ["/v2/models/nobody", 404, "Request for unknown model: 'nobody' is not found"],
    ["/v2/models/m/versions/2", 404, "Request for unknown model: 'm' version 2 is not found"],
    ["/v2/models/nobody/config", 404, "Request for unknown model: 'nobody' is not found"],
    ["/v2/models/m/versions/2/config", 404, "Request for unknown model: 'm' version 2 is not found"],
    [
      "/v2/models/m/versions/99999999999999999999",
      400,
      "failed to get model version from specified version string '99999999999999999999' (details: stol), version should be an integral value > 0",
    ],
    [
      "/v2/models/m/versions/9223372036854775807",
      404,
      "Request for unknown model: 'm' version 9223372036854775807 is not found",
    ],
    [
      "/v2/models/nobody/versions/9223372036854775807/config",
      404,
      "Request for unknown model: 'nobody' is not found",
    ],
    ["/v2/models/m/versions/-1", 404, "Not Found"],
    ["/v2/models/m/versions/latest", 404, "Not Found"],
    ["/v2/models/nobody/stats", 400, "requested model 'nobody' is not available"],
    ["/v2/models/m/versions/2/stats", 400, "requested model version is not available for model 'm'"],
  ])("%s is refused", async (target, status, error) => {
    const { get } = await startBench();
    expect(outcome(await get(target))).toEqual(refused(status, error));
  });

  it("of a version that was unloaded", async () => {
    const { get, bench } = await startBench();
    await bench.unload("m");
    expect(outcome(await get("/v2/models/m"))).toEqual(
      refused(404, "Request for unknown model: 'm' has no available versions"),
    );
    expect(outcome(await get("/v2/models/m/versions/1"))).toEqual(
      refused(503, "Request for unknown model: 'm' version 1 is not at ready state"),
    );
  });

  it("takes the raw path, apart from quoted names", async () => {
    const { get } = await createHttpBench({ models: { "a b": echoModel() } });
    expect((await get("/v2/models/a%20b?x=/versions/9")).json).toMatchObject({ name: "a b" });
    expect((await get("/v2/models/a%20b/")).status).toBe(404);
  });

  it("shows dims without reshape, and all kinds of configuration fields", async () => {
    const { get } = await createHttpBench({
      models: {
        m: fakeModel({
          inputs: "IN FP32 [4] reshape { shape: [2, 2] }",
          outputs: "OUT FP32 [4]",
          config: "dynamic_batching { max_queue_delay_microseconds: 5 }",
          maxBatchSize: 2,
        }),
      },
    });
    expect((await get("/v2/models/m")).json).toMatchObject({ inputs: [{ shape: [-1, 4] }] });
    const config = (await get("/v2/models/m/config")).text;
    expect(config).toContain('"dims":[4],"reshape":{"shape":[2,2]}');
    expect(config).toContain('"max_queue_delay_microseconds":5');
    expect(config).toContain('"label_filename":""');
    expect(config).not.toContain("sequence_batching");
  });
});

describe("statistics", () => {
  it("count what was asked and what was executed", async () => {
    let ends: "well" | "badly" = "well";
    const { get, post, bench } = await createHttpBench({
      models: { m: echoModel([1, 3], "version_policy { all {} }"), other: echoModel() },
      backend: {
        latencyNs: 1_000_000,
        onExecute: () =>
          ends === "well"
            ? { kind: "complete" }
            : { kind: "fail", error: { code: "INTERNAL", message: "no" } },
      },
    });
    expect((await get("/v2/models/m/versions/1/stats")).json).toMatchObject({
      model_stats: [{ last_inference: 0, inference_count: 0, execution_count: 0, batch_stats: [] }],
    });
    await post("/v2/models/m/infer", REQUEST);
    await post("/v2/models/m/infer", REQUEST);
    const lastInference = String(bench.clock.epochMs());
    ends = "badly";
    await post("/v2/models/m/infer", REQUEST);
    await post("/v2/models/m/infer", { inputs: [] });
    const text = (await get("/v2/models/m/versions/3/stats")).text;
    const took = (count: number, ms = count): string =>
      `{"count":${String(count)},"ns":${String(ms * 1_000_000)}}`;
    const none = took(0);
    expect(text).toBe(
      `{"model_stats":[{"name":"m","version":"3","last_inference":${lastInference},"inference_count":4,"execution_count":2,` +
        `"inference_stats":{"success":${took(2)},"fail":${took(1)},"queue":${took(2, 0)},"compute_input":${took(2, 0)},"compute_infer":${took(2)},"compute_output":${took(2, 0)},"cache_hit":${none},"cache_miss":${none}},` +
        `"response_stats":{},"batch_stats":[{"batch_size":2,"compute_input":${took(2, 0)},"compute_infer":${took(2)},"compute_output":${took(2, 0)}}],"memory_usage":[],` +
        `"batch_limits":{"full":0,"preferred_batch_size":0,"too_large":0,"shape":0,"no_delay":0,"queue_empty":0,"instance_busy":0,"not_batching":3,"retry":0}}]}`,
    );
    const names = async (target: string): Promise<readonly string[]> => {
      const { model_stats } = (await get(target)).json as unknown as {
        readonly model_stats: readonly { readonly name: string; readonly version: string }[];
      };
      return model_stats.map(({ name, version }) => `${name}:${version}`);
    };
    expect(await names("/v2/models/m/stats")).toEqual(["m:1", "m:3"]);
    expect(await names("/v2/models/stats")).toEqual(["m:1", "m:3", "other:1"]);
  });
});

describe("repository", () => {
  it("lists versions, states and reasons", async () => {
    const { post, bench } = await startBench();
    await expect(bench.load("bad")).rejects.toThrow();
    const lines = async (body?: JsonValue, target = "/v2/repository/index"): Promise<readonly string[]> => {
      const entries = (await post(target, body)).json as unknown as readonly Record<string, string>[];
      return entries.map(({ name, version, state, reason }) =>
        [name, version, state, reason].filter(Boolean).join(" "),
      );
    };
    const all = ["bad 1 UNAVAILABLE Internal: no memory", "broken", "idle", "m 1 READY", "m 3 READY"];
    expect(await lines()).toEqual(all);
    expect(await lines({ ready: false }, "/v2/repository/any/index")).toEqual(all);
    expect(await lines({ ready: true })).toEqual(["m 1 READY", "m 3 READY"]);
    await post("/v2/repository/models/m/unload");
    expect(await lines()).toEqual([
      ...all.slice(0, 3),
      "m 1 UNAVAILABLE unloaded",
      "m 3 UNAVAILABLE unloaded",
    ]);
    expect(outcome(await post("/v2/repository/index", { ready: "yes" }))).toEqual(
      refused(400, "Invalid value for 'ready': expected a boolean"),
    );
  });

  it.each<[string, string, JsonValue | undefined, number, string | RegExp]>([
    ["load", "nobody", undefined, 500, /^failed to load 'nobody', failed to poll from model repository/],
    ["load", "broken", undefined, 500, /^failed to load 'broken', failed to poll from model repository/],
    [
      "load",
      "idle",
      { parameters: { config: "{" } },
      500,
      /^failed to load 'idle', failed to poll from model repository/,
    ],
    [
      "load",
      "idle",
      { parameters: { config: '{"nonsense":1}' } },
      500,
      /^failed to load 'idle', failed to poll from model repository/,
    ],
    [
      "load",
      "idle",
      { parameters: { "file:1/model.fake": "AAAA" } },
      500,
      /^failed to load 'idle', failed to poll from model repository/,
    ],
    [
      "load",
      "bad",
      undefined,
      400,
      "load failed for model 'bad': version 1 is at UNAVAILABLE state: Internal: no memory;\n",
    ],
    ["load", "idle", { parameters: { other: "x" } }, 500, "unexpected error on creating Triton parameter"],
    ["load", "idle", { parameters: { config: 1 } }, 500, "attempt to access JSON non-string as string"],
    ["load", "%20", undefined, 400, "Model name cannot be empty. Please enter a valid name to deploy."],
    [
      "load",
      "..",
      undefined,
      400,
      "invalid model name '..', model name must not contain path traversal characters",
    ],
    [
      "load",
      "a%2Fb",
      undefined,
      400,
      "invalid model name 'a/b', model name must not contain path traversal characters",
    ],
    [
      "unload",
      "m",
      { parameters: { unload_dependents: 1 } },
      500,
      "Unable to parse 'unload_dependents': attempt to access JSON non-boolean as boolean",
    ],
  ])("refuses to %s %s with %j", async (action, model, body, status, error) => {
    const { post } = await startBench();
    const answer = await post(`/v2/repository/models/${model}/${action}`, body);
    expect(answer.status).toBe(status);
    if (typeof error === "string") expect(answer.error).toBe(error);
    else expect(answer.error).toMatch(error);
  });

  it("loads and unloads, also what is not there", async () => {
    const { get, post } = await startBench();
    expect(outcome(await post("/v2/repository/models/idle/load"))).toEqual([200, ""]);
    expect(outcome(await post("/v2/repository/models/idle/load", {}))).toEqual([200, ""]);
    expect((await get("/v2/models/idle/ready")).status).toBe(200);
    expect(outcome(await post("/v2/repository/models/idle/unload"))).toEqual([200, ""]);
    expect(outcome(await post("/v2/repository/models/nobody/unload"))).toEqual([200, ""]);
    expect(outcome(await post("/v2/repository/r/models/idle/load"))).toEqual(
      refused(501, "'repository_name' specification is not supported"),
    );
  });

  it.each(["none", "poll"] as const)(
    "is not controlled from outside in mode %s",
    async (modelControlMode) => {
      const { post, bench } = await createHttpBench({
        models: { m: echoModel() },
        options: { modelControlMode },
        load: [],
      });
      for (const action of ["load", "unload"]) {
        const answer = await post(`/v2/repository/models/m/${action}`);
        expect(answer.status).toBe(503);
        expect(answer.error).toMatch(/^explicit model load \/ unload is not allowed if polling is enabled/);
      }
      await bench.server.stop();
    },
  );

  it("takes a configuration and files for one load", async () => {
    const { get, post } = await startBench();
    const config = JSON.stringify({
      backend: "fake",
      max_batch_size: 2,
      input: [{ name: "x", data_type: "TYPE_INT32", dims: [1] }],
      output: [{ name: "y", data_type: "TYPE_INT32", dims: ["1"] }],
    });
    const load = { parameters: { config, "file:7/model.fake": "AAEC" } };
    expect(outcome(await post("/v2/repository/models/m/load", load))).toEqual([200, ""]);
    expect((await get("/v2/models/m")).json).toMatchObject({ versions: ["7"] });
    expect(outcome(await post("/v2/repository/models/m/load"))).toEqual([200, ""]);
    expect((await get("/v2/models/m")).json).toMatchObject({ versions: ["1", "3"] });
  });
});
