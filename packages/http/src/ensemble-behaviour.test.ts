import type { JsonObject, JsonValue, Tensor } from "@naiad/protocol";
import type { FakeAnswer, FakeExecution, MemoryModel } from "@naiad/testing";
import { ensembleModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import type { HttpBench, HttpBenchOptions } from "../test/http-bench.ts";
import { createHttpBench } from "../test/http-bench.ts";
import { fakeModel, identityModel } from "../test/models.ts";

/** What Triton's own suites for ensembles look after, and what its answers look like. */

type InstanceRequest = FakeExecution["requests"][number];
type InstanceOutcome = NonNullable<Extract<FakeAnswer, { readonly kind: "complete" }>["outcomes"]>[number];

/** Sum and difference, as in Triton's models of the kind. */
function addSub(maxBatchSize = 8): MemoryModel {
  return fakeModel({
    inputs: "INPUT0 INT32 [2]; INPUT1 INT32 [2]",
    outputs: "OUTPUT0 INT32 [2]; OUTPUT1 INT32 [2]",
    maxBatchSize,
  });
}

/** (a + b) + (a - b) and (a + b) - (a - b): twice each input. */
const TWICE: Readonly<Record<string, MemoryModel>> = {
  add_sub: addSub(),
  twice: ensembleModel({
    inputs: "A INT32 [2]; B INT32 [2]",
    outputs: "TWICE_A INT32 [2]; TWICE_B INT32 [2]",
    maxBatchSize: 8,
    steps: [
      "add_sub: INPUT0=A, INPUT1=B > OUTPUT0=sum, OUTPUT1=difference",
      "add_sub: INPUT0=sum, INPUT1=difference > OUTPUT0=TWICE_A, OUTPUT1=TWICE_B",
    ],
  }),
};

const elements = (tensor: Tensor | undefined): Int32Array =>
  tensor?.kind === "bytes" ? new Int32Array(tensor.bytes.slice().buffer) : new Int32Array();

function computeAddSub(request: InstanceRequest): InstanceOutcome {
  const [first, second] = request.inputs;
  const a = elements(first);
  const b = elements(second);
  return {
    kind: "response",
    parameters: {},
    outputs: request.outputs.map((name): Tensor => {
      const result = a.map((value, index) => value + (name === "OUTPUT0" ? 1 : -1) * (b[index] ?? 0));
      return {
        kind: "bytes",
        name,
        datatype: "INT32",
        shape: first?.shape ?? [],
        bytes: new Uint8Array(result.buffer),
      };
    }),
  };
}

const addSubBackend = {
  onExecute: ({ requests, instanceName }: FakeExecution): FakeAnswer =>
    instanceName.startsWith("add_sub")
      ? {
          kind: "complete",
          outcomes: requests.map(computeAddSub),
          times: { computeInputNs: 1, computeInferNs: 20, computeOutputNs: 300 },
        }
      : { kind: "complete" },
};

const start = (
  models: Readonly<Record<string, MemoryModel>>,
  more: HttpBenchOptions = {},
): Promise<HttpBench> => createHttpBench({ models, backend: addSubBackend, ...more });

function tensor(name: string, shape: readonly number[], data: readonly number[]): JsonObject {
  return { name, datatype: "INT32", shape, data };
}

const A_AND_B = { inputs: [tensor("A", [1, 2], [1, 2]), tensor("B", [1, 2], [10, 20])] };

function outputsOf(json: JsonValue): Readonly<Record<string, JsonValue>> {
  const { outputs } = json as unknown as { readonly outputs: readonly { name: string; data: JsonValue }[] };
  return Object.fromEntries(outputs.map(({ name, data }) => [name, data]));
}

interface Statistics {
  readonly inference_count: number;
  readonly execution_count: number;
  readonly inference_stats: Readonly<Record<string, { readonly count: number; readonly ns: number }>>;
}

async function statistics({ get }: HttpBench, model: string): Promise<Statistics> {
  const { json } = await get(`/v2/models/${model}/stats`);
  const [found] = (json as unknown as { readonly model_stats: readonly Statistics[] }).model_stats;
  if (found === undefined) throw new Error(`no statistics of '${model}'`);
  return found;
}

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

describe("a tensor between models of which only one batches", () => {
  const chain = (
    first: string,
    second: string,
    more: Partial<Parameters<typeof ensembleModel>[0]>,
  ): MemoryModel =>
    ensembleModel({
      inputs: "IN INT32 [2]",
      outputs: "OUT INT32 [2]",
      steps: [`${first}: INPUT0=IN > OUTPUT0=mid`, `${second}: INPUT0=mid > OUTPUT0=OUT`],
      ...more,
    });
  const models = {
    batching: identityModel("INT32", "[2]", { maxBatchSize: 4 }),
    single: identityModel("INT32", "[2]"),
    rows: identityModel("INT32", "[-1, 2]"),
    in_and_out: chain("single", "batching", { maxBatchSize: 0 }),
    batch_of_one: chain("batching", "single", { maxBatchSize: 4 }),
    batch_as_rows: chain("batching", "rows", { maxBatchSize: 4 }),
  };

  it.each([
    ["in_and_out", [2], [1, 2]],
    ["batch_of_one", [1, 2], [1, 2]],
    ["batch_as_rows", [2, 2], [1, 2, 3, 4]],
  ])("gets or loses a batch dimension: %s", async (name, shape, data) => {
    const http = await start(models);
    const { json } = await http.post(`/v2/models/${name}/infer`, { inputs: [tensor("IN", shape, data)] });
    expect(json).toMatchObject({ outputs: [tensor("OUT", shape, data)] });
  });

  it("is refused by the model where it has several rows and no room for them", async () => {
    const http = await start(models);
    const { status, error } = await http.post("/v2/models/batch_of_one/infer", {
      id: "r",
      inputs: [tensor("IN", [2, 2], [1, 2, 3, 4])],
    });
    expect(status).toBe(400);
    expect(error).toContain(
      "in ensemble 'batch_of_one', [request id: r] unexpected shape for input 'INPUT0' for model 'single'. Expected [2], got [2,2].",
    );
  });

  it("is as its model's clients see it, whatever the model itself sees", async () => {
    const reshaped = fakeModel({
      inputs: "INPUT0 INT32 [2] reshape { shape: [1, 2] }",
      outputs: "OUTPUT0 INT32 [2] reshape { shape: [1, 2] }",
      maxBatchSize: 4,
    });
    const http = await start({
      batching: models.batching,
      reshaped,
      e: chain("reshaped", "batching", { maxBatchSize: 4 }),
    });
    const { json } = await http.post("/v2/models/e/infer", {
      inputs: [tensor("IN", [3, 2], [1, 2, 3, 4, 5, 6])],
    });
    expect(json).toMatchObject({ outputs: [tensor("OUT", [3, 2], [1, 2, 3, 4, 5, 6])] });
    expect(http.bench.backend.executions[0]?.requests[0]?.inputs[0]?.shape).toEqual([3, 1, 2]);
  });
});

describe("an optional input", () => {
  const optional = fakeModel({
    inputs: "INPUT0 INT32 [2]; INPUT1 INT32 [2] optional: true",
    outputs: "OUTPUT0 INT32 [2]; OUTPUT1 INT32 [2]",
  });
  const through = (inner: string): MemoryModel =>
    ensembleModel({
      inputs: "A INT32 [2]; B INT32 [2] optional: true",
      outputs: "C INT32 [2]; D INT32 [2]",
      steps: [`${inner}: INPUT0=A, INPUT1=B > OUTPUT0=C, OUTPUT1=D`],
    });

  it("of the ensemble is left out where the model's is optional too", async () => {
    const http = await start({ inner: optional, e: through("inner") });
    const { status } = await http.post("/v2/models/e/infer", { inputs: [tensor("A", [2], [1, 2])] });
    expect(status).toBe(200);
    expect(http.bench.backend.executions[0]?.requests[0]?.inputs.map(({ name }) => name)).toEqual(["INPUT0"]);
  });

  it("is missed by a model that needs it", async () => {
    const http = await start({ add_sub: addSub(0), e: through("add_sub") });
    const { status, error } = await http.post("/v2/models/e/infer", { inputs: [tensor("A", [2], [1, 2])] });
    expect([status, error]).toEqual([
      400,
      "in ensemble 'e', [request id: <id_unknown>] expected 2 inputs but got 1 inputs for model 'add_sub'. Got input(s) ['INPUT0'], but missing " +
        "required input(s) ['INPUT1']. Please provide all required input(s).",
    ]);
  });

  it("an output that no model gave is left out of the answer", async () => {
    const http = await start(
      { inner: optional, e: through("inner") },
      {
        backend: {
          onExecute: ({ requests }) => ({
            kind: "complete",
            outcomes: requests.map((request) => {
              const outcome = computeAddSub(request);
              return outcome.kind === "response"
                ? { ...outcome, outputs: outcome.outputs.slice(0, 1) }
                : outcome;
            }),
          }),
        },
      },
    );
    const { json } = await http.post("/v2/models/e/infer", { inputs: [tensor("A", [2], [1, 2])] });
    expect(Object.keys(outputsOf(json))).toEqual(["C"]);
  });
});

describe("an error in a model", () => {
  it.each([
    ["UNAVAILABLE", 503],
    ["INTERNAL", 500],
    ["NOT_FOUND", 404],
  ] as const)("keeps its code, %s, and gets the ensemble's name in front", async (code, expected) => {
    const http = await start(TWICE, {
      backend: { onExecute: () => ({ kind: "fail", error: { code, message: "broken" } }) },
    });
    const { status, error } = await http.post("/v2/models/twice/infer", A_AND_B);
    expect([status, error]).toEqual([expected, "in ensemble 'twice', broken"]);
    expect((await statistics(http, "twice")).inference_stats).toMatchObject({
      fail: { count: 1 },
      success: { count: 0 },
    });
    const metrics = await http.bench.server.serverMetrics({}, { signal: new AbortController().signal });
    expect(metrics.text).toMatch(
      /nv_inference_request_failure\{model="twice",reason="OTHER",version="1"\} 1/,
    );
  });

  it("goes through the ensembles around it", async () => {
    const outer = ensembleModel({
      inputs: "A INT32 [2]; B INT32 [2]",
      outputs: "C INT32 [2]; D INT32 [2]",
      maxBatchSize: 8,
      steps: ["twice: A=A, B=B > TWICE_A=C, TWICE_B=D"],
    });
    const http = await start(
      { ...TWICE, outer },
      {
        backend: { onExecute: () => ({ kind: "fail", error: { code: "INTERNAL", message: "broken" } }) },
      },
    );
    const { error } = await http.post("/v2/models/outer/infer", A_AND_B);
    expect(error).toBe("in ensemble 'outer', in ensemble 'twice', broken");
  });

  it("is that it answered a batch with one row: never a silent single row", async () => {
    const http = await start(TWICE, {
      backend: {
        onExecute: ({ requests }) => ({
          kind: "complete",
          outcomes: requests.map((request) => {
            const outcome = computeAddSub(request);
            if (outcome.kind !== "response") return outcome;
            return {
              ...outcome,
              outputs: outcome.outputs.map((output) => ({
                ...output,
                shape: [1, 2],
                bytes: new Uint8Array(8),
              })),
            };
          }),
        }),
      },
    });
    const { status, error } = await http.post("/v2/models/twice/infer", {
      inputs: [tensor("A", [3, 2], [1, 2, 3, 4, 5, 6]), tensor("B", [3, 2], [1, 2, 3, 4, 5, 6])],
    });
    expect([status, error]).toEqual([
      500,
      "in ensemble 'twice', step 0 of model 'add_sub' answered a batch of 3 with an output 'OUTPUT0' of shape [1,2]: " +
        "expected batch dimension 3, got 1",
    ]);
  });
});
