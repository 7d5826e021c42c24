import type { JsonObject, JsonValue } from "@naiad/protocol";
import type { MemoryModel } from "@naiad/testing";
import { ensembleModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { fakeModel, identityModel } from "../test/models.ts";
import type { Statistics } from "../test/add-sub-ensemble.ts";
import {
  A_AND_B,
  addSub,
  addSubBackend,
  computeAddSub,
  outputsOf,
  start,
  statistics,
  tensor,
  TWICE,
} from "../test/add-sub-ensemble.ts";

/** What Triton's own suites for ensembles look after, and what its answers look like. */
describe("an ensemble", () => {
  it("answers as its models would one after another", async () => {
    const http = await start(TWICE);
    const { json } = await http.post("/v2/models/twice/infer", { id: "r", ...A_AND_B });
    expect(json).toEqual({
      id: "r",
      model_name: "twice",
      model_version: "1",
      // Triton's ensembles tell of the sequence that they are in, and of none like this.
      parameters: { sequence_id: 0, sequence_start: false, sequence_end: false },
      outputs: [tensor("TWICE_A", [1, 2], [2, 4]), tensor("TWICE_B", [1, 2], [20, 40])],
    });
  });

  it("is told of like any model", async () => {
    const http = await start(TWICE);
    expect((await http.get("/v2/models/twice")).json).toEqual({
      name: "twice",
      versions: ["1"],
      platform: "ensemble",
      inputs: ["A", "B"].map((name) => ({ name, datatype: "INT32", shape: [-1, 2] })),
      outputs: ["TWICE_A", "TWICE_B"].map((name) => ({ name, datatype: "INT32", shape: [-1, 2] })),
    });
    const config = (await http.get("/v2/models/twice/config")).json as JsonObject;
    expect(config).toMatchObject({
      platform: "ensemble",
      backend: "",
      model_transaction_policy: { decoupled: false },
    });
    expect(config["instance_group"]).toEqual([]);
    expect((await http.get("/v2/models/twice/ready")).status).toBe(200);
  });

  it("does only what the wanted outputs need", async () => {
    const models = {
      add_sub: addSub(),
      left: identityModel("INT32", "[2]", { maxBatchSize: 8 }),
      right: identityModel("INT32", "[2]", { maxBatchSize: 8 }),
      fork: ensembleModel({
        inputs: "A INT32 [2]; B INT32 [2]",
        outputs: "LEFT INT32 [2]; RIGHT INT32 [2]",
        maxBatchSize: 8,
        steps: [
          "add_sub: INPUT0=A, INPUT1=B > OUTPUT0=sum, OUTPUT1=difference",
          "left: INPUT0=sum > OUTPUT0=LEFT",
          "right: INPUT0=difference > OUTPUT0=RIGHT",
        ],
      }),
    };
    const http = await start(models);
    const { json } = await http.post("/v2/models/fork/infer", { ...A_AND_B, outputs: [{ name: "RIGHT" }] });
    expect(outputsOf(json)).toEqual({ RIGHT: [-9, -18] });
    expect((await statistics(http, "left")).inference_count).toBe(0);
  });

  it("counts once for a request, and its models for each of their own", async () => {
    const http = await start(TWICE);
    const batch = {
      inputs: [tensor("A", [3, 2], [1, 2, 3, 4, 5, 6]), tensor("B", [3, 2], [0, 0, 0, 0, 0, 0])],
    };
    await http.post("/v2/models/twice/infer", batch);
    expect(await statistics(http, "add_sub")).toMatchObject({ inference_count: 6, execution_count: 2 });
    const stats = await statistics(http, "twice");
    expect(stats).toMatchObject({ inference_count: 3, execution_count: 1 });
    expect(stats.inference_stats).toMatchObject({
      success: { count: 1 },
      queue: { count: 1, ns: 0 },
      compute_input: { count: 1, ns: 2 },
      compute_infer: { count: 1, ns: 40 },
      compute_output: { count: 1, ns: 600 },
    });
  });

  it("has its answers kept where it enables the response cache", async () => {
    const cached = {
      ...TWICE,
      twice: {
        ...TWICE["twice"],
        "config.pbtxt": `${String(TWICE["twice"]?.["config.pbtxt"])} response_cache { enable: true }`,
      },
    };
    const http = await start(cached, { options: { cacheConfig: { kind: "local", byteSize: 8192 } } });
    const first = await http.post("/v2/models/twice/infer", A_AND_B);
    const second = await http.post("/v2/models/twice/infer", A_AND_B);
    expect(second.text).toBe(first.text);
    expect(http.bench.backend.executions).toHaveLength(2);
    expect((await statistics(http, "twice")).inference_stats).toMatchObject({
      success: { count: 2 },
      cache_hit: { count: 1 },
      cache_miss: { count: 1 },
    });
  });

  it("counts against the byte budget once, and its models never", async () => {
    // Room for the 16 bytes of one request, and what it takes besides: the 16 that pass between its steps need none.
    const http = await start(TWICE, {
      options: { maxInflightBytes: 16 + 4096 },
      backend: { ...addSubBackend, latencyNs: 1e6 },
    });
    const answers = await Promise.all([1, 2].map(() => http.post("/v2/models/twice/infer", A_AND_B)));
    expect(answers.map(({ status, error }) => [status, error])).toEqual([
      [200, ""],
      [503, "[request id: <id_unknown>] Exceeds maximum queue size"],
    ]);
  });

  it("asks for the version that a step names, and for the latest at the time otherwise", async () => {
    const versions = identityModel("INT32", "[2]", {
      config: "version_policy { all {} }",
      files: { "2/model.fake": "" },
    });
    const steps = (first: string): MemoryModel =>
      ensembleModel({
        inputs: "IN INT32 [2]",
        outputs: "OUT INT32 [2]",
        steps: [`${first}: INPUT0=IN > OUTPUT0=OUT`],
      });
    const http = await start({ m: versions, old: steps("m@1"), latest: steps("m") });
    const body = { inputs: [tensor("IN", [2], [1, 2])] };
    await http.post("/v2/models/old/infer", body);
    await http.post("/v2/models/latest/infer", body);
    const { json } = await http.get("/v2/models/m/stats");
    const { model_stats: stats } = json as unknown as { readonly model_stats: readonly Statistics[] };
    expect(stats.map((version) => version.inference_count)).toEqual([1, 1]);
  });
});

describe("the requests that an ensemble makes", () => {
  it("have its id, parameters, priority and sequence", async () => {
    const sequences = "sequence_batching { max_sequence_idle_microseconds: 1000000000 }";
    const models = {
      m: identityModel("INT32", "[2]", { maxBatchSize: 1, config: sequences }),
      e: ensembleModel({
        inputs: "IN INT32 [2]",
        outputs: "OUT INT32 [2]",
        maxBatchSize: 1,
        steps: ["m: INPUT0=IN > OUTPUT0=OUT"],
      }),
    };
    const http = await start(models);
    const step = (parameters: JsonObject): Promise<{ readonly json: JsonValue }> =>
      http.post("/v2/models/e/infer", { id: "r", parameters, inputs: [tensor("IN", [1, 2], [1, 2])] });
    const first = await step({ sequence_id: 7, sequence_start: true, sequence_end: false, mine: "x" });
    await step({ sequence_id: 7, sequence_start: false, sequence_end: true });
    expect(http.bench.backend.executions.map(({ requests }) => requests[0])).toMatchObject([
      { id: "r", parameters: { mine: "x" }, sequence: { id: 7n, start: true, end: false } },
      { id: "r", sequence: { id: 7n, start: false, end: true } },
    ]);
    expect(first.json).toMatchObject({
      parameters: { sequence_id: 7, sequence_start: true, sequence_end: false },
    });
  });

  it("meet in the batches of its models", async () => {
    const batching = "dynamic_batching { max_queue_delay_microseconds: 1000 }";
    const models = {
      ...TWICE,
      add_sub: fakeModel({
        inputs: "INPUT0 INT32 [2]; INPUT1 INT32 [2]",
        outputs: "OUTPUT0 INT32 [2]; OUTPUT1 INT32 [2]",
        maxBatchSize: 8,
        config: batching,
      }),
    };
    const http = await start(models, {
      backend: {
        onExecute: ({ requests }) => ({
          kind: "complete",
          outcomes: requests.map(computeAddSub),
          latencyNs: 1e6,
        }),
      },
    });
    const answers = await Promise.all(
      [0, 1, 2, 3].map((value) =>
        http.post("/v2/models/twice/infer", {
          inputs: [tensor("A", [1, 2], [value, value]), tensor("B", [1, 2], [0, 0])],
        }),
      ),
    );
    expect(answers.map(({ json }) => outputsOf(json)["TWICE_A"])).toEqual(
      [0, 1, 2, 3].map((value) => [2 * value, 2 * value]),
    );
    expect(http.bench.backend.executions.map(({ rows }) => rows)).toEqual([4, 4]);
  });
});
