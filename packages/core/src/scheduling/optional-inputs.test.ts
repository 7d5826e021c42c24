import type { InferenceRequest } from "@naiad/protocol";
import type { ServerBench } from "@naiad/testing";
import { createServerBench } from "@naiad/testing";
import { describe, expect, it } from "vitest";

const MS = 1_000_000;
const { signal } = new AbortController();

/** Batches of up to 4, which wait 10 ms; `a` must be there, `b` and `c` may. */
const CONFIG = `
  backend: "fake"
  max_batch_size: 4
  input [
    { name: "a" data_type: TYPE_INT32 dims: [1] },
    { name: "b" data_type: TYPE_INT32 dims: [1] optional: true },
    { name: "c" data_type: TYPE_INT32 dims: [-1] optional: true }
  ]
  output { name: "y" data_type: TYPE_INT32 dims: [1] }
  dynamic_batching { max_queue_delay_microseconds: 10000 }
`;

/** `a`, `b`, and `c` with its length, such as `c2`. */
function request(id: number, inputs: readonly string[]): InferenceRequest {
  return {
    modelName: "m",
    modelVersion: "",
    id: String(id),
    parameters: {},
    inputs: inputs.map((input) => {
      const count = Number(input.slice(1)) || 1;
      const bytes = new Uint8Array(new Int32Array(count).fill(id).buffer);
      return { kind: "bytes", name: input.slice(0, 1), datatype: "INT32", shape: [1, count], bytes };
    }),
    outputs: [],
  };
}

async function serving(): Promise<ServerBench> {
  const bench = createServerBench({ models: { m: { "config.pbtxt": CONFIG, "1/m": "" } } });
  await bench.start();
  await bench.load("m");
  return bench;
}

describe("optional inputs and the dynamic batcher", () => {
  it.each([
    ["all of them share a batch", ["a b c1", "a b c1", "a b c1"], ["0,1,2"]],
    ["none of them share a batch", ["a", "a", "a", "a"], ["0,1,2,3"]],
    ["the same of them, in any order, share a batch", ["a b", "b a"], ["0,1"]],
    ["others part", ["a b", "a c1", "a"], ["0", "1", "2"]],
    ["come back to what was before do not go back in time", ["a b", "a", "a b"], ["0", "1", "2"]],
    ["differ in a shape part", ["a c1", "a c2", "a c2"], ["0", "1,2"]],
  ])("requests that have %s", async (_what, inputs, batches) => {
    const bench = await serving();
    const answers = inputs.map((names, id) =>
      bench.server.modelInfer(request(id, names.split(" ")), { signal }),
    );
    await bench.clock.advance(50 * MS);
    const ids = (await Promise.all(answers)).map(({ id }) => id);
    expect(ids).toEqual(inputs.map((_, id) => String(id)));
    expect(bench.backend.executions.map(({ requestIds }) => requestIds.join())).toEqual(batches);
  });

  it("reach the model in the order of the configuration, without those that are absent", async () => {
    const bench = await serving();
    const answer = bench.server.modelInfer(request(3, ["c2", "a"]), { signal });
    await bench.clock.advance(50 * MS);
    await answer;
    expect(bench.backend.executions[0]?.requests[0]?.inputs.map(({ name }) => name)).toEqual(["a", "c"]);
  });

  it.each([
    [["b"], "missing required input(s) ['a']"],
    [
      [],
      "expected number of inputs between 1 and 3 but got 0 inputs for model 'm'. Got input(s) [], but missing required " +
        "input(s) ['a']. Please provide all required input(s).",
    ],
    [["a", "z"], "unexpected inference input 'z' for model 'm'"],
  ])("do not make up for one that is required: %j", async (inputs, message) => {
    const bench = await serving();
    await expect(bench.server.modelInfer(request(1, inputs), { signal })).rejects.toThrow(message);
  });
});
