import type { InstanceOutcome, InstanceRequest } from "@naiad/core";
import type { BytesTensor } from "@naiad/protocol";
import { encodeBytesElements, typedElements } from "@naiad/protocol";
import {
  attribute,
  ElementType,
  floats,
  integers,
  node,
  onnxModel,
  value,
} from "@naiad/testing/fixture-models";
import { describe, expect, it } from "vitest";
import { fp32, load, loadFixture, outcomesOf, request } from "../test/loaded-instance.ts";

function items(...values: number[]): InstanceRequest {
  return request([fp32("ITEMS", [1, values.length], values)], ["SUM", "COPY"]);
}

/** `NAME[shape] values` of each output. */
function shown(outcome: InstanceOutcome | undefined): readonly string[] {
  if (outcome?.kind === "error") return [outcome.error.message];
  if (outcome?.kind !== "response") return [outcome?.kind ?? "nothing"];
  return outcome.outputs.map((output) => {
    const values = output.kind === "bytes" ? typedElements("FP32", output.bytes).join() : "device";
    return `${output.name}[${output.shape.join()}] ${values}`;
  });
}

describe("a ragged batch", () => {
  it("takes requests of different lengths in one run and gives each its own", async () => {
    const model = await loadFixture("ragged_sum");
    const outcomes = await outcomesOf(model, items(1, 2, 3), items(10), items(), items(5, 5));
    expect(outcomes.map(shown)).toEqual([
      ["SUM[1,1] 6", "COPY[1,3] 1,2,3"],
      ["SUM[1,1] 10", "COPY[1,1] 10"],
      ["SUM[1,1] 0", "COPY[1,0] "],
      ["SUM[1,1] 10", "COPY[1,2] 5,5"],
    ]);
    expect(model.runs.length).toBe(1);
  });

  it("may be of one request, and outputs come in the order in which they are wanted", async () => {
    const model = await loadFixture("ragged_sum");
    const [outcome] = await outcomesOf(model, request([fp32("ITEMS", [1, 2], [3, 4])], ["COPY", "SUM"]));
    expect(shown(outcome)).toEqual(["COPY[1,2] 3,4", "SUM[1,1] 7"]);
    const [copy] = await outcomesOf(model, request([fp32("ITEMS", [1, 2], [3, 4])], ["COPY"]));
    expect(shown(copy)).toEqual(["COPY[1,2] 3,4"]);
  });

  it("keeps a request with a fault from its neighbours", async () => {
    const model = await loadFixture("ragged_sum");
    const outcomes = await outcomesOf(
      model,
      items(1),
      request([fp32("ITEMS", [1, 9], [1])], ["SUM"]),
      items(2),
    );
    expect(outcomes.map((outcome) => shown(outcome)[0])).toEqual([
      "SUM[1,1] 1",
      "unexpected total byte size 4 for inference input 'ITEMS', expecting 36",
      "SUM[1,1] 2",
    ]);
  });

  it("joins texts", async () => {
    const dims = ["n"];
    const model = await load(
      `name: "texts" max_batch_size: 4
       input { name: "T" data_type: TYPE_STRING dims: -1 allow_ragged_batch: true }
       output { name: "U" data_type: TYPE_STRING dims: -1 }
       batch_output { target_name: "U" source_input: "T" }`,
      onnxModel({
        name: "texts",
        input: [value("T", ElementType.STRING, dims)],
        output: [value("U", ElementType.STRING, dims)],
        node: [node("Identity", ["T"], ["U"])],
      }),
    );
    const texts = (...values: string[]): BytesTensor => ({
      kind: "bytes",
      name: "T",
      datatype: "BYTES",
      shape: [1, values.length],
      bytes: encodeBytesElements(values),
    });
    const outcomes = await outcomesOf(
      model,
      request([texts("a", "")], ["U"]),
      request([texts("bcd")], ["U"]),
    );
    expect(outcomes.map((outcome) => (outcome.kind === "response" ? outcome.outputs : outcome))).toEqual([
      [{ ...texts("a", ""), name: "U" }],
      [{ ...texts("bcd"), name: "U" }],
    ]);
  });
});

describe("batch inputs", () => {
  /** ROWS = ROW + 1000 * the number of B's elements + the sum of all sums of its first elements. */
  function tellingModel(rank: number): Uint8Array {
    const dims = Array.from({ length: rank }, (_, axis) => `told_${axis}`);
    return onnxModel({
      name: "telling",
      input: [
        value("X", ElementType.FLOAT, ["items"]),
        value("ROW", ElementType.FLOAT, ["rows", 1]),
        value("B", ElementType.FLOAT, dims),
      ],
      output: [value("ROWS", ElementType.FLOAT, ["rows", 1]), value("X_COPY", ElementType.FLOAT, ["items"])],
      initializer: [integers("axis", [], [0]), integers("flat", [1], [-1]), floats("thousand", [1], [1000])],
      node: [
        node("Identity", ["X"], ["X_COPY"]),
        node("Size", ["B"], ["size"]),
        node("Cast", ["size"], ["count"], [attribute.int("to", ElementType.FLOAT)]),
        node("Mul", ["count", "thousand"], ["thousands"]),
        node("Reshape", ["B", "flat"], ["list"]),
        node("CumSum", ["list", "axis"], ["sums"]),
        node("ReduceSum", ["sums"], ["sum"], [attribute.int("keepdims", 0)]),
        node("Add", ["thousands", "sum"], ["told"]),
        node("Add", ["ROW", "told"], ["ROWS"]),
      ],
    });
  }

  it.each([
    ["BATCH_ELEMENT_COUNT", 1, [3, 4]],
    ["BATCH_ACCUMULATED_ELEMENT_COUNT", 1, [3, 7]],
    ["BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO", 1, [0, 3, 7]],
    ["BATCH_MAX_ELEMENT_COUNT_AS_SHAPE", 1, [0, 0, 0, 0]],
    ["BATCH_ITEM_SHAPE", 2, [3, 2, 2]],
    ["BATCH_ITEM_SHAPE_FLATTEN", 1, [3, 2, 2]],
  ] as const)(
    "of kind %s reach the model beside inputs that are batched by row",
    async (kind, rank, told) => {
      const model = await load(
        `name: "telling" max_batch_size: 4
       input [
         { name: "X" data_type: TYPE_FP32 dims: -1 allow_ragged_batch: true },
         { name: "ROW" data_type: TYPE_FP32 dims: 1 }
       ]
       output { name: "ROWS" data_type: TYPE_FP32 dims: 1 }
       batch_input { kind: ${kind} target_name: "B" data_type: TYPE_FP32 source_input: "X" }`,
        tellingModel(rank),
      );
      const both = (x: BytesTensor, row: BytesTensor): InstanceRequest => request([x, row], ["ROWS"]);
      const outcomes = await outcomesOf(
        model,
        both(fp32("X", [1, 3], [1, 1, 1]), fp32("ROW", [1, 1], [10])),
        both(fp32("X", [2, 2], [1, 1, 1, 1]), fp32("ROW", [2, 1], [20, 30])),
      );
      let sum = 0;
      const number = told.reduce<number>((all, count) => all + (sum += count), 1000 * told.length);
      expect(outcomes.map(shown)).toEqual([
        [`ROWS[1,1] ${10 + number}`],
        [`ROWS[2,1] ${20 + number},${30 + number}`],
      ]);
    },
  );
});
