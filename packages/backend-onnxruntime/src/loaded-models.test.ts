import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { Value } from "@naiad/testing/fixture-models";
import {
  addSubModel,
  affineModel,
  attribute,
  ElementType,
  external,
  floats,
  identityModel,
  node,
  onnxModel,
  value,
} from "@naiad/testing/fixture-models";
import {
  floatsOf,
  fp32,
  load,
  loadFixture,
  outcomesOf,
  outputsOf,
  request,
  texts,
} from "../test/loaded-instance.ts";

describe("what a model may look like", () => {
  it("keeps its weights in another file", async () => {
    const loaded = await loadFixture("external_data");
    const [outcome] = await outcomesOf(
      loaded,
      request([fp32("INPUT", [1, 64], new Array<number>(64).fill(0))], ["OUTPUT"]),
    );
    expect(floatsOf(outputsOf(outcome)[0])).toEqual(new Array(8).fill(0));
    expect(loaded.instance.device).toEqual({
      executionProvider: "wasm",
      build: "wasm",
      threads: 1,
    });
  });

  it("has scalars, which the configuration declares as one element", async () => {
    const loaded = await load(
      `name: "scalar"
       input [ { name: "INPUT0" data_type: TYPE_FP32 dims: 1 }, { name: "INPUT1" data_type: TYPE_FP32 dims: 1 } ]
       output { name: "OUTPUT0" data_type: TYPE_FP32 dims: 1 }`,
      addSubModel(ElementType.FLOAT, []),
    );
    const inputs = [fp32("INPUT0", [1], [2]), fp32("INPUT1", [1], [3])];
    const [outcome] = await outcomesOf(loaded, request(inputs, ["OUTPUT0"], 0));
    expect(outputsOf(outcome)).toEqual([fp32("OUTPUT0", [1], [5])]);
  });

  it("has an input of a rank that only the configuration tells", async () => {
    const anyRank = { elemType: ElementType.FLOAT };
    const loaded = await load(
      `name: "any"
       input { name: "X" data_type: TYPE_FP32 dims: [ 1, 2 ] }
       output { name: "Y" data_type: TYPE_FP32 dims: [ 1, 2 ] }`,
      onnxModel({
        name: "any",
        input: [{ name: "X", type: { value: { case: "tensorType", value: anyRank } } }],
        output: [{ name: "Y", type: { value: { case: "tensorType", value: anyRank } } }],
        node: [node("Neg", ["X"], ["Y"])],
      }),
    );
    const [outcome] = await outcomesOf(loaded, request([fp32("X", [1, 2], [1, 2])], ["Y"], 0));
    expect(outputsOf(outcome)).toEqual([fp32("Y", [1, 2], [-1, -2])]);
  });

  it("has sizes of zero", async () => {
    const loaded = await load(
      `name: "empty"
       input { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1, 3 ] }
       output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1, 3 ] }`,
      identityModel(ElementType.FLOAT, [0, 3]),
    );
    const outcomes = await outcomesOf(
      loaded,
      request([fp32("INPUT0", [0, 3], [])], ["OUTPUT0"], 0),
      request([fp32("INPUT0", [1, 3], [1, 2, 3])], ["OUTPUT0"], 0),
    );
    expect(outputsOf(outcomes[0])).toEqual([fp32("OUTPUT0", [0, 3], [])]);
    expect(outcomes[1]).toMatchObject({ kind: "error", error: { code: "INVALID_ARG" } });
  });

  it("has an initializer that is also an input: it may be given or left out", async () => {
    const loaded = await loadFixture("optional_input");
    const input = fp32("INPUT", [4], [10, 20, 30, 40]);
    const outcomes = await outcomesOf(
      loaded,
      request([input], ["OUTPUT"], 0),
      request([input, fp32("BIAS", [4], [0.5, 0.5, 0.5, 0.5])], ["OUTPUT"], 0),
      request([input], ["OUTPUT"], 0),
    );
    expect(outcomes.map((outcome) => floatsOf(outputsOf(outcome)[0]))).toEqual([
      [11, 22, 33, 44],
      [10.5, 20.5, 30.5, 40.5],
      [11, 22, 33, 44],
    ]);
  });

  it("keeps the initializer that may be overridden in another file", async () => {
    const inner = floats("BIAS", [2], [5, 6]);
    const offset = 8;
    const data = new Uint8Array(offset + inner.rawData.byteLength);
    data.set(inner.rawData, offset);
    const loaded = await load(
      `name: "far"
       input [ { name: "X" data_type: TYPE_FP32 dims: 2 }, { name: "BIAS" data_type: TYPE_FP32 dims: 2 optional: true } ]
       output { name: "Y" data_type: TYPE_FP32 dims: 2 }`,
      onnxModel({
        name: "far",
        input: [value("X", ElementType.FLOAT, [2]), value("BIAS", ElementType.FLOAT, [2])],
        output: [value("Y", ElementType.FLOAT, [2])],
        initializer: [external(inner, "w.bin", offset)],
        node: [node("Add", ["X", "BIAS"], ["Y"])],
      }),
      [{ path: "w.bin", bytes: data }],
    );
    const [outcome] = await outcomesOf(loaded, request([fp32("X", [2], [1, 1])], ["Y"], 0));
    expect(floatsOf(outputsOf(outcome)[0])).toEqual([6, 7]);
  });

  it("gives a sequence beside its tensors", async () => {
    const sequence: Value = {
      name: "LIST",
      type: { value: { case: "sequenceType", value: { elemType: tensorType() } } },
    };
    const loaded = await load(
      `name: "mixed" max_batch_size: 4
       input { name: "X" data_type: TYPE_FP32 dims: 2 }
       output { name: "Y" data_type: TYPE_FP32 dims: 2 }`,
      onnxModel({
        name: "mixed",
        input: [value("X", ElementType.FLOAT, ["batch", 2])],
        output: [sequence, value("Y", ElementType.FLOAT, ["batch", 2])],
        node: [node("SequenceConstruct", ["X"], ["LIST"]), node("Neg", ["X"], ["Y"])],
      }),
    );
    const ask = fp32("X", [1, 2], [1, 2]);
    const outcomes = await outcomesOf(loaded, request([ask], ["Y"]), request([ask], ["LIST"]));
    expect(floatsOf(outputsOf(outcomes[0])[0])).toEqual([-1, -2]);
    expect(outcomes[1]).toMatchObject({
      error: { message: "unexpected inference output 'LIST', allowed outputs are: Y" },
    });
  });

  it("asks for every option that an engine on the CPU has", async () => {
    const parameter = (key: string, text: string): string =>
      `parameters { key: "${key}" value { string_value: "${text}" } }`;
    const loaded = await load(
      `name: "tuned" max_batch_size: 8
       input { name: "INPUT" data_type: TYPE_FP32 dims: 4 }
       output { name: "OUTPUT" data_type: TYPE_FP32 dims: 4 }
       optimization { graph { level: 1 } }
       ${parameter("execution_mode", "1")}
       ${parameter("enable_mem_arena", "1")}
       ${parameter("enable_mem_pattern", "1")}`,
      affineModel(2, 1),
    );
    for (let round = 0; round < 3; round += 1) {
      const [outcome] = await outcomesOf(loaded, request([fp32("INPUT", [1, 4], [1, 2, 3, 4])], ["OUTPUT"]));
      expect(floatsOf(outputsOf(outcome)[0])).toEqual([3, 5, 7, 9]);
    }
  });

  it("contradicts its own shapes and then runs without optimisation", async () => {
    const loaded = await load(
      `name: "contradiction"
       input { name: "X" data_type: TYPE_FP32 dims: [ 2, 3 ] }
       output { name: "Y" data_type: TYPE_FP32 dims: [ 3, 2 ] }`,
      contradictoryModel(),
    );
    const [outcome] = await outcomesOf(loaded, request([fp32("X", [2, 3], [1, 2, 3, 4, 5, 6])], ["Y"], 0));
    expect(floatsOf(outputsOf(outcome)[0])).toEqual([1, 2, 3, 4, 5, 6]);
    expect(outputsOf(outcome)[0]?.shape).toEqual([3, 2]);
    expect(loaded.log).toEqual([expect.stringContaining("runs without graph optimisation")]);
  });

  it("gives another shape than the configuration promises", async () => {
    const loaded = await load(
      `name: "liar"
       input { name: "INPUT0" data_type: TYPE_FP32 dims: -1 }
       output { name: "OUTPUT0" data_type: TYPE_FP32 dims: 3 }`,
      identityModel(ElementType.FLOAT, ["n"]),
    );
    const outcomes = await outcomesOf(loaded, request([fp32("INPUT0", [2], [1, 2])], ["OUTPUT0"], 0));
    expect(outcomes[0]).toEqual({
      kind: "error",
      error: {
        code: "INTERNAL",
        message:
          "unexpected shape for output 'OUTPUT0' of model 'liar', model configuration shape is [3], " +
          "inference shape is [2]",
      },
    });
  });

  const dataFolder = process.env["NAIAD_TEST_DATA"];
  it.skipIf(dataFolder === undefined)("comes from scikit-learn (needs NAIAD_TEST_DATA)", async () => {
    const model = await readFile(join(dataFolder ?? "", "models/iris_logreg.onnx"));
    const loaded = await load(
      `name: "iris" max_batch_size: 8
       input { name: "features" data_type: TYPE_FP32 dims: 4 }
       output { name: "label" data_type: TYPE_STRING dims: [ ] reshape { shape: [ ] } }`,
      new Uint8Array(model),
    );
    const [outcome] = await outcomesOf(
      loaded,
      request([fp32("features", [1, 4], [5.1, 3.5, 1.4, 0.2])], ["label"]),
    );
    expect(outputsOf(outcome)).toEqual([texts("label", [1], ["setosa"])]);
  });

  function tensorType(): NonNullable<Value["type"]> {
    const { type } = value("", ElementType.FLOAT, ["batch", 2]);
    if (type === undefined) throw new Error("a value has a type");
    return type;
  }

  /** Declares [2, 3] for a result whose shape [3, 2] shows only once a constant has been folded. */
  function contradictoryModel(): Uint8Array {
    return onnxModel({
      name: "contradiction",
      input: [value("X", ElementType.FLOAT, [2, 3])],
      output: [value("Y", ElementType.FLOAT, [2, 3])],
      initializer: [floats("sizes", [2], [3, 2])],
      node: [
        node("Cast", ["sizes"], ["shape"], [attribute.int("to", ElementType.INT64)]),
        node("Reshape", ["X", "shape"], ["Y"]),
      ],
    });
  }
});

describe("a model that cannot be loaded", () => {
  const config = `name: "broken"
    input { name: "INPUT0" data_type: TYPE_FP32 dims: 1 }
    output { name: "OUTPUT0" data_type: TYPE_FP32 dims: 1 }`;

  it.each([
    [
      "is no ONNX file",
      Uint8Array.of(1, 2, 3),
      "onnx runtime error 7: Failed to load model because protobuf parsing",
    ],
    ["has an unknown operator", unknownOperator(), "onnx runtime error 6: No Op registered for Frobnicate"],
  ])("%s: says so", async (_, model, text) => {
    const error: unknown = await load(config, model).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InferenceError);
    expect(error).toMatchObject({ code: "INTERNAL", message: expect.stringContaining(text) });
  });

  it("leaves the engine fit for the next one", async () => {
    await load(config, Uint8Array.of(1)).catch(() => undefined);
    const loaded = await loadFixture("batcher");
    const [outcome] = await outcomesOf(loaded, request([fp32("INPUT", [1, 4], [0, 0, 0, 0])], ["OUTPUT"]));
    expect(floatsOf(outputsOf(outcome)[0])).toEqual([1, 1, 1, 1]);
  });

  function unknownOperator(): Uint8Array {
    return onnxModel({
      name: "unknown",
      input: [value("INPUT0", ElementType.FLOAT, [1])],
      output: [value("OUTPUT0", ElementType.FLOAT, [1])],
      node: [node("Frobnicate", ["INPUT0"], ["OUTPUT0"])],
    });
  }
});
