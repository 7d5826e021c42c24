import type { MemoryModel } from "@naiad/testing";
import { ensembleModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { fakeModel, identityModel } from "../test/models.ts";
import {
  A_AND_B,
  addSub,
  computeAddSub,
  outputsOf,
  start,
  statistics,
  tensor,
  TWICE,
} from "../test/add-sub-ensemble.ts";

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
