import type { InstanceRequest } from "@naiad/core";
import type { Datatype } from "@naiad/protocol";
import { tensorByteSize } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import {
  addSubModel,
  ElementType,
  floats,
  identityModel,
  node,
  onnxModel,
  value,
} from "@naiad/testing/fixture-models";
import {
  bytes,
  floatsOf,
  fp32,
  int64,
  load,
  loadFixture,
  outcomesOf,
  outputsOf,
  request,
  texts,
} from "../test/loaded-instance.ts";

describe("every datatype", () => {
  const elements: readonly [Datatype, ElementType][] = [
    ["BOOL", ElementType.BOOL],
    ["UINT8", ElementType.UINT8],
    ["UINT16", ElementType.UINT16],
    ["UINT32", ElementType.UINT32],
    ["UINT64", ElementType.UINT64],
    ["INT8", ElementType.INT8],
    ["INT16", ElementType.INT16],
    ["INT32", ElementType.INT32],
    ["INT64", ElementType.INT64],
    ["FP16", ElementType.FLOAT16],
    ["FP32", ElementType.FLOAT],
    ["FP64", ElementType.DOUBLE],
  ];

  it.each(elements)(
    "%s goes through unchanged, also from the middle of a body",
    async (datatype, element) => {
      const loaded = await load(identityConfig(datatype), identityModel(element, ["batch", 4]));
      const byteSize = tensorByteSize(datatype, [2, 4]) ?? 0;
      const body = new Uint8Array(byteSize + 3);
      for (let i = 0; i < body.length; i++) body[i] = datatype === "BOOL" ? i % 2 : 3 + (i % 60);
      const content = body.subarray(3);
      const [outcome] = await outcomesOf(
        loaded,
        request([bytes("INPUT0", datatype, [2, 4], content)], ["OUTPUT0"]),
      );
      expect(outputsOf(outcome)).toEqual([bytes("OUTPUT0", datatype, [2, 4], content)]);
    },
  );

  it("BYTES keeps every character", async () => {
    const loaded = await loadFixture("identity_bytes");
    const input = texts("INPUT0", [2, 2], ["", "Zoë", "漢字", "x".repeat(1000)]);
    const [outcome] = await outcomesOf(loaded, request([input], ["OUTPUT0"]));
    expect(outputsOf(outcome)).toEqual([{ ...input, name: "OUTPUT0" }]);
  });

  it("int64 beyond 2^53 is exact", async () => {
    const loaded = await loadFixture("identity_int64");
    const input = int64("INPUT0", [1, 2], [9_007_199_254_740_993n, -9_223_372_036_854_775_808n]);
    const [outcome] = await outcomesOf(loaded, request([input], ["OUTPUT0"]));
    expect(outputsOf(outcome)[0]?.bytes).toEqual(input.bytes);
  });

  function identityConfig(datatype: Datatype): string {
    return `name: "identity" max_batch_size: 8
      input { name: "INPUT0" data_type: TYPE_${datatype} dims: 4 }
      output { name: "OUTPUT0" data_type: TYPE_${datatype} dims: 4 }`;
  }
});

describe("batches", () => {
  it("run once and give each request its rows and its outputs", async () => {
    const loaded = await loadFixture("simple");
    const ask = (rows: number, seed: number, outputs: readonly string[]): InstanceRequest => {
      const values = Int32Array.from({ length: rows * 16 }, (_, i) => i + seed);
      const content = new Uint8Array(values.buffer);
      const shape = [rows, 16];
      return request(
        [bytes("INPUT1", "INT32", shape, content), bytes("INPUT0", "INT32", shape, content)],
        outputs,
      );
    };
    const outcomes = await outcomesOf(loaded, ask(1, 0, ["OUTPUT0"]), ask(3, 100, ["OUTPUT1", "OUTPUT0"]));
    expect(loaded.runs).toEqual(["first-run"]);
    const [sum] = outputsOf(outcomes[0]);
    expect(sum?.shape).toEqual([1, 16]);
    expect(new Int32Array(sum?.bytes.buffer ?? new ArrayBuffer(0))[5]).toBe(10);
    const [difference, sums] = outputsOf(outcomes[1]);
    expect(difference?.name).toBe("OUTPUT1");
    expect(difference?.bytes.every((byte) => byte === 0)).toBe(true);
    expect(sums?.shape).toEqual([3, 16]);
    expect(new Int32Array(sums?.bytes.buffer ?? new ArrayBuffer(0))[0]).toBe(200);
  });

  it("give each request buffers of its own", async () => {
    const loaded = await loadFixture("batcher");
    const ask = request([fp32("INPUT", [1, 4], [1, 2, 3, 4])], ["OUTPUT"]);
    const outcomes = await outcomesOf(loaded, ask, ask);
    const buffers = outcomes.map((outcome) => outputsOf(outcome)[0]?.bytes.buffer);
    expect(new Set(buffers).size).toBe(2);
    expect(buffers.map((buffer) => buffer?.byteLength)).toEqual([16, 16]);
  });

  it("of texts are cut where the rows end", async () => {
    const loaded = await loadFixture("identity_bytes");
    const one = texts("INPUT0", [1, 2], ["a", "bb"]);
    const two = texts("INPUT0", [2, 2], ["ccc", "", "d", "é"]);
    const outcomes = await outcomesOf(loaded, request([one], ["OUTPUT0"]), request([two], ["OUTPUT0"]));
    expect(outputsOf(outcomes[0])[0]?.bytes).toEqual(one.bytes);
    expect(outputsOf(outcomes[1])[0]?.bytes).toEqual(two.bytes);
  });

  it("may have no rows at all", async () => {
    const loaded = await loadFixture("batcher");
    const none = request([fp32("INPUT", [0, 4], [])], ["OUTPUT"]);
    const one = request([fp32("INPUT", [1, 4], [1, 2, 3, 4])], ["OUTPUT"]);
    const alone = await outcomesOf(loaded, none);
    expect(outputsOf(alone[0])).toEqual([fp32("OUTPUT", [0, 4], [])]);
    const together = await outcomesOf(loaded, one, none, one);
    expect(together.map((outcome) => floatsOf(outputsOf(outcome)[0]))).toEqual([
      [3, 5, 7, 9],
      [],
      [3, 5, 7, 9],
    ]);
  });

  it("fall apart where the shapes differ", async () => {
    const loaded = await loadFixture("identity_fp32");
    const outcomes = await outcomesOf(
      loaded,
      request([fp32("INPUT0", [1, 2], [1, 2])], ["OUTPUT0"]),
      request([fp32("INPUT0", [1, 3], [3, 4, 5])], ["OUTPUT0"]),
      request([fp32("INPUT0", [1, 2], [6, 7])], ["OUTPUT0"]),
    );
    expect(outcomes.map((outcome) => floatsOf(outputsOf(outcome)[0]))).toEqual([
      [1, 2],
      [3, 4, 5],
      [6, 7],
    ]);
    expect(loaded.runs).toHaveLength(2);
  });

  it("are never made for a model without a batch dimension", async () => {
    const model = addSubModel(ElementType.FLOAT, [2]);
    const loaded = await load(
      `name: "flat"
       input [ { name: "INPUT0" data_type: TYPE_FP32 dims: 2 }, { name: "INPUT1" data_type: TYPE_FP32 dims: 2 } ]
       output { name: "OUTPUT0" data_type: TYPE_FP32 dims: 2 }`,
      model,
    );
    const ask = request([fp32("INPUT0", [2], [1, 2]), fp32("INPUT1", [2], [10, 20])], ["OUTPUT0"], 0);
    const outcomes = await outcomesOf(loaded, ask, ask);
    expect(outcomes.map((outcome) => floatsOf(outputsOf(outcome)[0]))).toEqual([
      [11, 22],
      [11, 22],
    ]);
    expect(loaded.runs).toEqual(["first-run", "run"]);
  });

  it("report where their time went", async () => {
    const loaded = await loadFixture("mlp_2x128");
    const ask = request([fp32("INPUT", [1, 128], new Array<number>(128).fill(1))], ["OUTPUT"]);
    const { times } = await loaded.instance.execute([ask]);
    expect(times.computeInferNs).toBeGreaterThan(0);
    expect(Object.values(times).every((ns) => Number.isInteger(ns) && ns >= 0)).toBe(true);
  });
});

describe("outputs that are no numbers", () => {
  it("are counted by run and output, and told once", async () => {
    const loaded = await load(
      `name: "logarithm" max_batch_size: 8
       input { name: "X" data_type: TYPE_FP32 dims: 2 }
       output [ { name: "LOG" data_type: TYPE_FP32 dims: 2 }, { name: "ROOT" data_type: TYPE_FP32 dims: 2 } ]`,
      onnxModel({
        name: "logarithm",
        input: [value("X", ElementType.FLOAT, ["batch", 2])],
        output: [
          value("LOG", ElementType.FLOAT, ["batch", 2]),
          value("ROOT", ElementType.FLOAT, ["batch", 2]),
        ],
        node: [node("Log", ["X"], ["LOG"]), node("Sqrt", ["X"], ["ROOT"])],
      }),
    );
    const counted = async (values: readonly number[]): Promise<number> => {
      const ask = request([fp32("X", [1, 2], values)], ["LOG", "ROOT"]);
      return (await loaded.instance.execute([ask])).nonFiniteOutputs;
    };
    expect(await counted([1, 2])).toBe(0);
    expect(await counted([0, 1])).toBe(1);
    expect(await counted([-1, 1])).toBe(2);
    expect(loaded.log).toEqual(["warning: output 'LOG' holds NaN or infinity; this is said once"]);
  });
});

describe("one bad request", () => {
  it("fails alone where a check finds it", async () => {
    const loaded = await loadFixture("identity_bytes");
    const outcomes = await outcomesOf(
      loaded,
      request([texts("INPUT0", [1, 1], ["good"])], ["OUTPUT0"]),
      request([texts("INPUT0", [1, 1], ["a\0b"])], ["OUTPUT0"]),
      request([texts("INPUT0", [1, 1], [Uint8Array.of(0xc3)])], ["OUTPUT0"]),
      request([texts("INPUT0", [1, 2], ["one"])], ["OUTPUT0"]),
      request([fp32("INPUT0", [1, 1], [1])], ["OUTPUT0"]),
      request([texts("INPUT0", [1, 1], ["x"])], ["OUTPUT9"]),
      request([texts("INPUT9", [1, 1], ["x"])], ["OUTPUT0"]),
      request([texts("INPUT0", [1, 1], ["x"]), texts("INPUT9", [1, 1], ["x"])], ["OUTPUT0"]),
      request([texts("INPUT0", [1, 1], ["fine"])], ["OUTPUT0"]),
    );
    expect(outcomes.map((outcome) => (outcome.kind === "error" ? outcome.error : "ok"))).toMatchObject([
      "ok",
      {
        code: "INVALID_ARG",
        message: expect.stringContaining("element 0 of inference input 'INPUT0' contains a NUL"),
      },
      { code: "INVALID_ARG", message: expect.stringContaining("is not valid UTF-8") },
      { message: "unexpected number of string elements 1 for inference input 'INPUT0', expecting 2" },
      { message: "inference input 'INPUT0' data-type is 'FP32', but model 'identity_bytes' expects 'BYTES'" },
      { message: "unexpected inference output 'OUTPUT9', allowed outputs are: OUTPUT0" },
      { message: "inference input 'INPUT0' is missing for model 'identity_bytes'" },
      { message: "unexpected inference input 'INPUT9', allowed inputs are: INPUT0" },
      "ok",
    ]);
    expect(loaded.runs).toEqual(["first-run"]);
  });

  it("fails alone where only the engine finds it, and the next execution works", async () => {
    const loaded = await load(
      `name: "lookup" max_batch_size: 8
       input { name: "INDEX" data_type: TYPE_INT64 dims: 1 }
       output { name: "ROW" data_type: TYPE_FP32 dims: 1 }`,
      lookupModel(),
    );
    const ask = (index: bigint): InstanceRequest => request([int64("INDEX", [1, 1], [index])], ["ROW"]);
    const outcomes = await outcomesOf(loaded, ask(0n), ask(99n), ask(2n));
    expect(floatsOf(outputsOf(outcomes[0])[0])).toEqual([10]);
    expect(outcomes[1]).toMatchObject({
      kind: "error",
      error: {
        code: "INVALID_ARG",
        message: expect.stringMatching(/^onnx runtime error 2: .*out of data bounds/),
      },
    });
    expect(floatsOf(outputsOf(outcomes[2])[0])).toEqual([30]);
    expect(loaded.runs).toEqual(["first-run", "run", "run", "run"]);
    const again = await outcomesOf(loaded, ask(1n));
    expect(floatsOf(outputsOf(again[0])[0])).toEqual([20]);
  });

  function lookupModel(): Uint8Array {
    return onnxModel({
      name: "lookup",
      input: [value("INDEX", ElementType.INT64, ["batch", 1])],
      output: [value("ROW", ElementType.FLOAT, ["batch", 1])],
      initializer: [floats("table", [3], [10, 20, 30])],
      node: [node("Gather", ["table", "INDEX"], ["ROW"])],
    });
  }
});
