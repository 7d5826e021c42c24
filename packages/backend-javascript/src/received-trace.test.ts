import { describe, expect, it } from "vitest";
import { bench, doubled, model, request } from "../test/model-bench.ts";
import type { InferRequest } from "./model/model.ts";

describe("the trace of a request in a model's hands", () => {
  it("goes along with the requests that it is handed on with, and takes what the model reports", async () => {
    const { run, asked, log } = await bench(
      model(async ([given], { infer }) => {
        if (given === undefined) return null;
        const trace = given.trace();
        trace?.reportActivity("SORT_START");
        await infer({ modelName: "a", inputs: given.inputs, trace });
        await infer({ modelName: "b", inputs: given.inputs });
        return [doubled(given)];
      }),
    );
    await run([request([1], { traceId: 7 })]);
    expect(asked.map((wire) => ({ ...wire, inputs: [] }))).toMatchObject([
      { modelName: "a", traceParentId: 7 },
      { modelName: "b" },
    ]);
    expect(asked[1]).not.toHaveProperty("traceParentId");
    expect(log).toEqual(["trace 7: SORT_START"]);
  });

  it("is none where the request is not traced, and nothing else is one", async () => {
    const errors: string[] = [];
    const seen: unknown[] = [];
    const { run } = await bench(
      model(async ([given], { infer }) => {
        if (given === undefined) return null;
        seen.push(given.trace(), given.priority);
        const forged = { reportActivity: () => undefined };
        const asked: InferRequest = { modelName: "a", inputs: [], trace: forged };
        await infer(asked).catch((error: unknown) => errors.push(String(error)));
        return [doubled(given)];
      }),
    );
    await run([request([1], { priority: 2 })]);
    expect(seen).toEqual([undefined, 2]);
    expect(errors).toEqual([
      expect.stringContaining("'trace' of a BLS request must be the trace of a request"),
    ]);
  });
});
