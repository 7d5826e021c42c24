import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { InstanceOutcome, InstanceRequest } from "@naiad/core";
import type { OnnxModel } from "@naiad/model-config";
import { byteSourceOf, parseConfigText, readOnnxModel } from "@naiad/model-config";
import type { BytesTensor, Datatype } from "@naiad/protocol";
import { encodeBytesElements, InferenceError, tensorByteSize } from "@naiad/protocol";
import { afterEach, describe, expect, it } from "vitest";
import type { Value } from "@naiad/testing/fixture-models";
import {
  addSubModel,
  affineModel,
  attribute,
  ElementType,
  external,
  fixtureModels,
  floats,
  identityModel,
  node,
  onnxModel,
  value,
} from "@naiad/testing/fixture-models";
import type { OnnxEngine } from "./engine.ts";
import type { OnnxInstance } from "./instance.ts";
import { createOnnxInstance } from "./instance.ts";
import type { ExternalFile } from "./session-options.ts";
import { startEngine } from "./start-engine.ts";

const ENGINE: OnnxEngine = { build: "wasm", load: () => import("onnxruntime-web") };
const ORT = await startEngine(ENGINE, { ortUrl: "", threads: 1 });

/** What is known of bytes that are no model. */
const NO_MODEL: OnnxModel = {
  irVersion: 0,
  opsets: [],
  inputs: [],
  overridableInitializers: [],
  outputs: [],
  initializerNames: new Set(),
  externalFiles: [],
};

const open: OnnxInstance[] = [];
afterEach(async () => {
  for (const instance of open.splice(0)) await instance.release();
});

interface Loaded {
  readonly instance: OnnxInstance;
  readonly runs: string[];
  readonly log: string[];
}

async function load(
  config: string,
  model: Uint8Array,
  externalFiles: readonly ExternalFile[] = [],
): Promise<Loaded> {
  const runs: string[] = [];
  const log: string[] = [];
  const instance = await createOnnxInstance(
    ORT,
    ENGINE.build,
    {
      config: parseConfigText(config, { fileName: "config.pbtxt" }),
      model,
      onnx: await readOnnxModel(byteSourceOf(model)).catch(() => NO_MODEL),
      externalFiles,
      target: { kind: "wasm" },
    },
    { onRun: (kind) => runs.push(kind), log: (level, message) => log.push(`${level}: ${message}`) },
  );
  open.push(instance);
  return { instance, runs, log };
}

async function loadFixture(name: string): Promise<Loaded> {
  const files = fixtureModels().find((model) => model.name === name)?.files ?? {};
  const { "config.pbtxt": config, "1/model.onnx": model, "1/weights.bin": weights } = files;
  if (typeof config !== "string" || !(model instanceof Uint8Array)) throw new Error(`no fixture ${name}`);
  const external = weights instanceof Uint8Array ? [{ path: "weights.bin", bytes: weights }] : [];
  return load(config, model, external);
}

function bytes(name: string, datatype: Datatype, shape: readonly number[], content: Uint8Array): BytesTensor {
  return { kind: "bytes", name, datatype, shape, bytes: content };
}

function fp32(name: string, shape: readonly number[], values: readonly number[]): BytesTensor {
  return bytes(name, "FP32", shape, new Uint8Array(new Float32Array(values).buffer));
}

function int64(name: string, shape: readonly number[], values: readonly bigint[]): BytesTensor {
  return bytes(name, "INT64", shape, new Uint8Array(new BigInt64Array(values).buffer));
}

function texts(
  name: string,
  shape: readonly number[],
  values: readonly (string | Uint8Array)[],
): BytesTensor {
  return bytes(name, "BYTES", shape, encodeBytesElements(values));
}

function request(
  inputs: readonly BytesTensor[],
  outputs: readonly string[],
  batchSize?: number,
): InstanceRequest {
  return { id: "", inputs, outputs, batchSize: batchSize ?? inputs[0]?.shape[0] ?? 0, parameters: {} };
}

async function outcomesOf(
  { instance }: Loaded,
  ...requests: readonly InstanceRequest[]
): Promise<readonly InstanceOutcome[]> {
  const { outcomes } = await instance.execute(requests);
  expect(outcomes).toHaveLength(requests.length);
  return outcomes;
}

function outputsOf(outcome: InstanceOutcome | undefined): readonly BytesTensor[] {
  if (outcome?.kind === "error") throw new Error(outcome.error.message);
  if (outcome?.kind !== "response") throw new Error(`outcome: ${outcome?.kind ?? "none"}`);
  return outcome.outputs.map((tensor) => {
    if (tensor.kind !== "bytes") throw new Error("a tensor on a device");
    return tensor;
  });
}

function floatsOf(tensor: BytesTensor | undefined): number[] {
  return tensor === undefined ? [] : [...new Float32Array(tensor.bytes.slice().buffer)];
}

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
