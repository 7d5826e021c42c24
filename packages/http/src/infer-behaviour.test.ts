import type { JsonValue } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { infer, input, one, outcome, outputData, simple, SIXTEEN, startBench } from "../test/infer-bench.ts";

describe("a request for inference", () => {
  it("is answered in the order of the requested outputs", async () => {
    const { post } = await startBench();
    const whole = await post(infer("simple"), simple({ id: "my id" }));
    const tensor = (name: string): string =>
      `{"name":"${name}","datatype":"INT32","shape":[1,16],"data":[${SIXTEEN.join(",")}]}`;
    expect(whole.text).toBe(
      `{"id":"my id","model_name":"simple","model_version":"1","outputs":[${tensor("OUTPUT0")},${tensor("OUTPUT1")}]}`,
    );
    expect(whole.header("content-type")).toBe("application/json");
    const some = await post(infer("simple"), simple({ outputs: [{ name: "OUTPUT1" }] }));
    expect(some.text).toBe(`{"model_name":"simple","model_version":"1","outputs":[${tensor("OUTPUT1")}]}`);
  });

  it.each<[string, JsonValue]>([
    ["flat", SIXTEEN],
    ["nested as the shape", [SIXTEEN]],
    ["nested in any other way", [[SIXTEEN.slice(0, 3)], SIXTEEN.slice(3)]],
  ])("takes data that are %s", async (_name, data) => {
    const { post } = await startBench();
    const answer = await post(infer("simple"), { inputs: [input("INPUT0", { data }), input("INPUT1")] });
    expect(answer.status).toBe(200);
    expect(outputData(answer)).toEqual(SIXTEEN);
  });

  it.each([101, 150, 100_000])("nested %d deep is refused", async (depth) => {
    const { post } = await startBench();
    const data = "[".repeat(depth) + "1" + "]".repeat(depth);
    const body = `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1],"data":${data}}]}`;
    expect(outcome(await post(infer("fp32"), body))).toEqual([
      400,
      "JSON nesting depth exceeds maximum allowed limit (100)",
    ]);
  });

  it("nested as deep as is allowed is taken", async () => {
    const { post } = await startBench();
    const data = "[".repeat(100) + "1" + "]".repeat(100);
    const body = `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1],"data":${data}}]}`;
    expect((await post(infer("fp32"), body)).status).toBe(200);
  });

  it.each([
    ["fp32", "FP32", [0]],
    ["open", "INT16", [0, 3]],
    ["texts", "BYTES", [0]],
  ])("of no elements is answered with none by %s", async (model, datatype, shape) => {
    const { post } = await startBench();
    const answer = await post(infer(model), one(datatype, shape, []));
    expect(answer.json).toMatchObject({ outputs: [{ shape, data: [] }] });
  });
});
