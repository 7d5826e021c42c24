import type { JsonObject, JsonValue } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { MemoryModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import type { HttpBench, HttpBenchOptions } from "../test/http-bench.ts";
import { createHttpBench } from "../test/http-bench.ts";
import { fakeModel, identityModel } from "../test/models.ts";

/** What Triton's own suite for the response cache looks after, and what ours keeps apart where Triton does not. */
const CACHED = "response_cache { enable: true }";

function startBench(
  models: Readonly<Record<string, MemoryModel>>,
  { options, ...more }: HttpBenchOptions = {},
): Promise<HttpBench> {
  return createHttpBench({
    models,
    options: { cacheConfig: { kind: "local", byteSize: 8192 }, ...options },
    ...more,
  });
}

const MODEL = identityModel("INT32", "[-1]", { config: CACHED });
const INFER = "/v2/models/m/infer";

function numbers(data: readonly number[], more: JsonObject = {}): JsonObject {
  return { inputs: [{ name: "INPUT0", datatype: "INT32", shape: [data.length], data }], ...more };
}

interface Statistics {
  readonly inference_count: number;
  readonly execution_count: number;
  readonly inference_stats: Readonly<Record<string, { readonly count: number; readonly ns: number }>>;
}

async function statistics({ get }: HttpBench, model = "m"): Promise<Statistics> {
  const { json } = await get(`/v2/models/${model}/stats`);
  const [found] = (json as unknown as { readonly model_stats: readonly Statistics[] }).model_stats;
  if (found === undefined) throw new Error(`no statistics of '${model}'`);
  return found;
}

async function hitsAndMisses(http: HttpBench, model = "m"): Promise<readonly number[]> {
  const { inference_stats: counts } = await statistics(http, model);
  return [counts["cache_hit"]?.count ?? -1, counts["cache_miss"]?.count ?? -1];
}

function outputs(json: JsonValue): JsonValue {
  return (json as JsonObject)["outputs"] ?? null;
}

describe("a model that enables the response cache", () => {
  it("answers an equal request without an execution, under its own id", async () => {
    const http = await startBench({ m: MODEL });
    const first = await http.post(INFER, numbers([1, 2], { id: "first" }));
    const second = await http.post(INFER, numbers([1, 2], { id: "second" }));
    expect(second.text).toBe(first.text.replace("first", "second"));
    expect(http.bench.backend.executions.length).toBe(1);
  });

  it("counts a hit as a success that was queued and not executed", async () => {
    const http = await startBench({ m: MODEL }, { backend: { latencyNs: 5000 } });
    for (let count = 0; count < 3; count += 1) await http.post(INFER, numbers([1, 2]));
    expect(await statistics(http)).toMatchObject({
      inference_count: 1,
      execution_count: 1,
      inference_stats: {
        success: { count: 3, ns: 5000 },
        fail: { count: 0 },
        queue: { count: 3 },
        compute_input: { count: 1 },
        compute_infer: { count: 1, ns: 5000 },
        compute_output: { count: 1 },
        cache_hit: { count: 2 },
        cache_miss: { count: 1 },
      },
    });
  });

  it("knows a request again however its numbers travel and its inputs are ordered", async () => {
    const two = fakeModel({
      inputs: "A INT32 [1]; B INT32 [1]",
      outputs: "X INT32 [1]; Y INT32 [1]",
      config: CACHED,
    });
    const http = await startBench({ m: two });
    const input = (name: string, value: number): JsonObject => ({
      name,
      datatype: "INT32",
      shape: [1],
      data: [value],
    });
    await http.post(INFER, { inputs: [input("A", 1), input("B", 2)] });
    await http.post(INFER, { inputs: [input("B", 2), input("A", 1)] });
    const header = JSON.stringify({
      inputs: ["A", "B"].map((name) => ({
        name,
        datatype: "INT32",
        shape: [1],
        parameters: { binary_data_size: 4 },
      })),
    });
    const body = Uint8Array.from([...new TextEncoder().encode(header), 1, 0, 0, 0, 2, 0, 0, 0]);
    await http.post(INFER, body, [["inference-header-content-length", String(header.length)]]);
    expect(await hitsAndMisses(http)).toEqual([2, 1]);
    await http.post(INFER, { inputs: [input("A", 2), input("B", 1)] });
    expect(await hitsAndMisses(http)).toEqual([2, 2]);
  });

  it("tells the same bytes in another shape apart, where Triton would answer with the first shape", async () => {
    const http = await startBench({ m: identityModel("INT32", "[-1,-1]", { config: CACHED }) });
    const data = [1, 2, 3, 4, 5, 6];
    for (const shape of [
      [2, 3],
      [3, 2],
    ]) {
      const { json } = await http.post(INFER, {
        inputs: [{ name: "INPUT0", datatype: "INT32", shape, data }],
      });
      expect(outputs(json)).toMatchObject([{ shape }]);
    }
    expect(await hitsAndMisses(http)).toEqual([0, 2]);
  });

  it("tells other requested outputs apart, where Triton would answer with the first ones", async () => {
    const two = fakeModel({
      inputs: "INPUT0 INT32 [-1]",
      outputs: "X INT32 [-1]; Y INT32 [-1]",
      config: CACHED,
    });
    const http = await startBench({ m: two });
    for (const names of [["X"], ["Y"], ["X", "Y"], ["Y", "X"]]) {
      const { json } = await http.post(INFER, numbers([1], { outputs: names.map((name) => ({ name })) }));
      expect(outputs(json)).toMatchObject(names.map((name) => ({ name, data: [1] })));
    }
    expect(await hitsAndMisses(http)).toEqual([0, 4]);
    const whole = await http.post(INFER, numbers([1]));
    expect(outputs(whole.json)).toMatchObject([{ name: "X" }, { name: "Y" }]);
    expect(await hitsAndMisses(http)).toEqual([1, 4]);
  });

  it("classifies what was kept, and gives it whole to those who ask for the tensor", async () => {
    const http = await startBench({ m: MODEL });
    const best = numbers([5, 9, 7], {
      outputs: [{ name: "OUTPUT0", parameters: { classification: 2 } }],
    });
    const answers = [];
    for (const request of [best, numbers([5, 9, 7]), best]) answers.push(await http.post(INFER, request));
    expect(answers.map(({ json }) => outputs(json))).toMatchObject([
      [{ datatype: "BYTES", data: ["9:1", "7:2"] }],
      [{ datatype: "INT32", data: [5, 9, 7] }],
      [{ datatype: "BYTES", data: ["9:1", "7:2"] }],
    ]);
    expect(await hitsAndMisses(http)).toEqual([2, 1]);
  });

  it("answers in the client's shape where the model's is another", async () => {
    const reshaped = {
      "config.pbtxt": `backend: "fake" ${CACHED}
        input { name: "INPUT0" data_type: TYPE_INT32 dims: [4] reshape { shape: [2, 2] } }
        output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [4] reshape { shape: [2, 2] } }`,
      "1/model.fake": "",
    };
    const http = await startBench({ m: reshaped });
    await http.post(INFER, numbers([1, 2, 3, 4]));
    const { json } = await http.post(INFER, numbers([1, 2, 3, 4]));
    expect(outputs(json)).toMatchObject([{ shape: [4], data: [1, 2, 3, 4] }]);
    expect(await hitsAndMisses(http)).toEqual([1, 1]);
  });

  it("executes equal requests that are on their way at the same time", async () => {
    const http = await startBench({ m: MODEL }, { backend: { latencyNs: 1000 } });
    await Promise.all([http.post(INFER, numbers([1])), http.post(INFER, numbers([1]))]);
    expect((await statistics(http)).execution_count).toBe(2);
    expect(await hitsAndMisses(http)).toEqual([0, 1]);
    await http.post(INFER, numbers([1]));
    expect(await hitsAndMisses(http)).toEqual([1, 1]);
  });

  it("does not keep an error", async () => {
    let isBroken = true;
    const error = new InferenceError("INTERNAL", "broken");
    const http = await startBench(
      { m: MODEL },
      { backend: { onExecute: () => (isBroken ? { kind: "fail", error } : { kind: "complete" }) } },
    );
    expect((await http.post(INFER, numbers([1]))).error).toBe("broken");
    isBroken = false;
    expect((await http.post(INFER, numbers([1]))).status).toBe(200);
    expect(await hitsAndMisses(http)).toEqual([0, 1]);
  });

  it("executes each time what is too large to be kept, and says so", async () => {
    const http = await startBench(
      { m: MODEL },
      { options: { cacheConfig: { kind: "local", byteSize: 200 } } },
    );
    await http.post(INFER, numbers([1]));
    await http.post(INFER, numbers([1]));
    expect(await hitsAndMisses(http)).toEqual([0, 2]);
    expect((await statistics(http)).execution_count).toBe(2);
    expect(
      http.bench.logger.lines.filter(({ message }) => message.includes("Failed to insert key")),
    ).toHaveLength(1);
  });

  it("forgets what was not asked for the longest time, whichever model it belongs to", async () => {
    const http = await startBench({ m: MODEL, other: MODEL });
    const large = (fill: number): JsonObject => numbers(Array.from({ length: 700 }, () => fill));
    const other = INFER.replace("/m/", "/other/");
    await http.post(INFER, large(1));
    await http.post(other, large(1));
    await http.post(INFER, large(1));
    await http.post(INFER, large(2));
    expect(await hitsAndMisses(http)).toEqual([1, 2]);
    await http.post(INFER, large(1));
    await http.post(other, large(1));
    expect(await hitsAndMisses(http)).toEqual([2, 2]);
    expect(await hitsAndMisses(http, "other")).toEqual([0, 2]);
  });

  it("keeps versions apart", async () => {
    const versions = {
      ...MODEL,
      "2/model.fake": "",
      "config.pbtxt": `${String(MODEL["config.pbtxt"])} version_policy { all {} }`,
    };
    const http = await startBench({ m: versions });
    for (const version of [1, 2, 2]) {
      const { json } = await http.post(`/v2/models/m/versions/${version}/infer`, numbers([1]));
      expect(json).toMatchObject({ model_version: String(version) });
    }
    expect(http.bench.backend.executions.length).toBe(2);
  });

  it("forgets everything when it is loaded anew", async () => {
    const http = await startBench({ m: MODEL });
    await http.post(INFER, numbers([1]));
    http.bench.repository.put("m", { ...MODEL, "1/model.fake": "changed" });
    await http.bench.load("m");
    await http.post(INFER, numbers([1]));
    expect(http.bench.backend.executions.length).toBe(2);
    expect(await hitsAndMisses(http)).toEqual([0, 1]);
  });

  it("keeps everything when only its instances change", async () => {
    const instances = (count: number): MemoryModel => {
      const config = `${CACHED} instance_group { kind: KIND_CPU count: ${String(count)} }`;
      return identityModel("INT32", "[-1]", { config });
    };
    const http = await startBench({ m: instances(1) });
    await http.post(INFER, numbers([1]));
    http.bench.repository.put("m", instances(2));
    await http.bench.load("m");
    await http.post(INFER, numbers([1]));
    expect(http.bench.backend.creationCount).toBe(2);
    expect(await hitsAndMisses(http)).toEqual([1, 1]);
  });

  it("is cached behind the dynamic batcher too, row by row as they were asked for", async () => {
    const http = await startBench({
      m: identityModel("INT32", "[1]", { maxBatchSize: 8, config: `${CACHED} dynamic_batching {}` }),
    });
    const rows = (data: readonly number[]): JsonObject => ({
      inputs: [{ name: "INPUT0", datatype: "INT32", shape: [data.length, 1], data }],
    });
    await http.post(INFER, rows([1, 2]));
    await http.post(INFER, rows([1, 2]));
    await http.post(INFER, rows([1]));
    expect(await hitsAndMisses(http)).toEqual([1, 2]);
    expect((await statistics(http)).inference_count).toBe(3);
  });
});

describe("nothing is cached", () => {
  it("for a model that does not enable it", async () => {
    const http = await startBench({ m: identityModel("INT32", "[-1]") });
    await http.post(INFER, numbers([1]));
    await http.post(INFER, numbers([1]));
    expect((await statistics(http)).execution_count).toBe(2);
    expect(await hitsAndMisses(http)).toEqual([0, 0]);
  });

  it("by a server without a cache", async () => {
    const http = await startBench({ m: MODEL }, { options: { cacheConfig: { kind: "none" } } });
    await http.post(INFER, numbers([1]));
    await http.post(INFER, numbers([1]));
    expect((await statistics(http)).execution_count).toBe(2);
    expect(await hitsAndMisses(http)).toEqual([0, 0]);
  });

  it.each([
    ["'decoupled' transaction policy", "model_transaction_policy { decoupled: true }"],
    ["sequence batching scheduler", "sequence_batching {}"],
  ])("of a model with %s, which is not loaded", async (what, config) => {
    const http = await startBench(
      { m: identityModel("INT32", "[-1]", { config: `${CACHED} ${config}` }) },
      { load: [] },
    );
    const { error } = await http.post("/v2/repository/models/m/load");
    expect(error).toContain(
      `Response Cache does not currently support model m with ${what}. Please disable the response cache.`,
    );
  });
});
