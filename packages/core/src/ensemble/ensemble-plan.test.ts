import type { ModelConfig } from "@naiad/model-config";
import { parseConfigText } from "@naiad/model-config";
import type { EnsembleText } from "@naiad/testing";
import { ensembleConfig, tensorConfigs } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import type { EnsemblePlan } from "./ensemble-plan.ts";
import { ensembleRequirements, neededSteps, planEnsemble } from "./ensemble-plan.ts";

interface ModelText {
  readonly inputs: string;
  readonly outputs: string;
  readonly maxBatchSize?: number;
  readonly config?: string;
}

function model(name: string, { inputs, outputs, maxBatchSize = 0, config = "" }: ModelText): ModelConfig {
  const tensors = [...tensorConfigs("input", inputs), ...tensorConfigs("output", outputs)].join("\n");
  return parseConfigText(`name: "${name}" max_batch_size: ${maxBatchSize} ${tensors} ${config}`, {
    fileName: name,
  });
}

const configOf = (text: EnsembleText): ModelConfig =>
  parseConfigText(`name: "e" ${ensembleConfig(text)}`, { fileName: "e" });

function plan(ensemble: EnsembleText, models: Readonly<Record<string, ModelText>>): EnsemblePlan {
  return planEnsemble(configOf(ensemble), (name) => model(name, models[name] ?? { inputs: "", outputs: "" }));
}

const COPY: ModelText = { inputs: "I FP32 [4]", outputs: "O FP32 [4]", maxBatchSize: 8 };
const ONE_STEP: EnsembleText = {
  inputs: "a FP32 [4]",
  outputs: "b FP32 [4]",
  steps: ["x: I=a > O=b"],
  maxBatchSize: 8,
};

describe("planEnsemble", () => {
  it("accepts models that fit", () => {
    expect(plan(ONE_STEP, { x: COPY })).toMatchObject({
      ensembleName: "e",
      steps: [
        {
          modelName: "x",
          modelVersion: undefined,
          inputs: [{ name: "I", tensor: "a" }],
          outputs: [{ name: "O", tensor: "b" }],
        },
      ],
      decoupled: false,
      maxInflightRequests: 0,
    });
  });

  it.each<[string, EnsembleText, Readonly<Record<string, ModelText>>, string]>([
    [
      "a model that takes smaller batches",
      ONE_STEP,
      { x: { ...COPY, maxBatchSize: 4 } },
      "ensemble e allows maximum batch size 8, but it contains model x which only allows maximum batch size to be 4",
    ],
    [
      "an input that the model does not have",
      { ...ONE_STEP, steps: ["x: I=a, J=a > O=b"] },
      { x: COPY },
      "in ensemble e, ensemble tensor a is mapping to non-existing input J in model x",
    ],
    [
      "an output that the model does not have",
      { ...ONE_STEP, steps: ["x: I=a > P=b"] },
      { x: COPY },
      "in ensemble e, ensemble tensor b is mapped from non-existing output P in model x",
    ],
    [
      "an input that is left open",
      ONE_STEP,
      { x: { ...COPY, inputs: "I FP32 [4]; J FP32 [4]" } },
      "in ensemble e, input J in model x is not mapped to any ensemble tensors",
    ],
    [
      "another datatype",
      ONE_STEP,
      { x: { ...COPY, inputs: "I INT32 [4]" } },
      "in ensemble e, ensemble tensor a: inconsistent data type: TYPE_FP32 is inferred from model e while " +
        "TYPE_INT32 is inferred from model x",
    ],
    [
      "another shape",
      ONE_STEP,
      { x: { ...COPY, outputs: "O FP32 [5]" } },
      "in ensemble e, ensemble tensor b: inconsistent shape: [-1,4] is inferred from model e while [-1,5] is inferred " +
        "from model x",
    ],
    [
      "models that do not fit each other",
      { ...ONE_STEP, steps: ["x: I=a > O=m", "y: I=m > O=b"] },
      { x: { ...COPY, outputs: "O FP32 [2]" }, y: { ...COPY, inputs: "I FP32 [3]" } },
      "in ensemble e, ensemble tensor m: inconsistent shape: [-1,2] is inferred from model x while [-1,3] is inferred " +
        "from model y",
    ],
  ])("refuses %s", (_what, ensemble, models, message) => {
    expect(() => plan(ensemble, models)).toThrow(
      expect.objectContaining({ code: "INVALID_ARG", message }) as Error,
    );
  });

  it.each<[string, ModelText, ModelText]>([
    ["any size", { ...COPY, outputs: "O FP32 [-1]" }, { ...COPY, inputs: "I FP32 [3]" }],
    [
      "a batch as a dimension of its own",
      COPY,
      { inputs: "I FP32 [-1, 4]", outputs: "O FP32 [4]", maxBatchSize: 0 },
    ],
    ["a tensor without a batch", { ...COPY, maxBatchSize: 0 }, { ...COPY, inputs: "I FP32 [4]" }],
  ])("takes %s between two models", (_what, x, y) => {
    const chain: EnsembleText = {
      ...ONE_STEP,
      maxBatchSize: 0,
      inputs: "a FP32 [-1]",
      steps: ["x: I=a > O=m", "y: I=m > O=b"],
    };
    expect(() => plan(chain, { x, y })).not.toThrow();
  });

  it("misses an input that is named as something that every object has", () => {
    const toString: ModelText = {
      inputs: "I FP32 [4]; toString FP32 [4]",
      outputs: "O FP32 [4]",
      maxBatchSize: 8,
    };
    expect(() => plan(ONE_STEP, { x: toString })).toThrow(
      "in ensemble e, input toString in model x is not mapped to any ensemble tensors",
    );
  });

  it("compares its own tensors as its models see them, after reshape", () => {
    const ensemble = { ...ONE_STEP, inputs: "a FP32 [2, 2] reshape { shape: [4] }" };
    expect(() => plan(ensemble, { x: COPY })).not.toThrow();
  });

  it("leaves optional inputs open", () => {
    expect(() =>
      plan(ONE_STEP, { x: { ...COPY, inputs: "I FP32 [4]; J FP32 [1] optional: true" } }),
    ).not.toThrow();
  });

  it("inherits the labels of outputs that have none of their own", () => {
    const labelled = plan(
      {
        ...ONE_STEP,
        outputs: 'b FP32 [4]; c FP32 [4] label_filename: "own.txt"',
        steps: ["x@3: I=a > O=b", "y: I=a > O=c"],
      },
      { x: COPY, y: COPY },
    );
    expect([...labelled.labelSources]).toEqual([["b", { modelName: "x", modelVersion: 3, output: "O" }]]);
  });
});

describe("a decoupled model in an ensemble", () => {
  const decoupled: ModelText = { ...COPY, config: "model_transaction_policy { decoupled: true }" };

  it("makes the ensemble decoupled", () => {
    expect(plan(ONE_STEP, { x: decoupled }).decoupled).toBe(true);
  });

  it.each<[string, EnsembleText]>([
    ["x", { ...ONE_STEP, steps: ["d: I=a > O=m", "x: I=a, J=m > O=b"] }],
    ["x", { ...ONE_STEP, steps: ["d: I=a > O=m", "d: I=a > O=n", "x: I=n, J=m > O=b"] }],
    ["e", { ...ONE_STEP, outputs: "b FP32 [4]; c FP32 [4]", steps: ["d: I=a > O=b", "y: I=a > O=c"] }],
  ])("must count all that is read together by %s", (reader, ensemble) => {
    expect(() =>
      plan(ensemble, { d: decoupled, x: { ...COPY, inputs: "I FP32 [4]; J FP32 [4]" }, y: COPY }),
    ).toThrow(
      `in ensemble e, step of model '${reader}' receives inputs originated from different decoupled models`,
    );
  });

  it("may have everything behind it", () => {
    const ensemble = { ...ONE_STEP, steps: ["d: I=a > O=m", "y: I=m > O=n", "x: I=n, J=m > O=b"] };
    const models = { d: decoupled, x: { ...COPY, inputs: "I FP32 [4]; J FP32 [4]" }, y: COPY };
    expect(plan(ensemble, models).steps.map((step) => step.decoupled)).toEqual([true, false, false]);
  });
});

describe("ensembleRequirements", () => {
  it("lists models with the versions that steps name", () => {
    const steps = ["x@2: I=a > O=b", "y: I=a > O=c", "x@3: I=a > O=d", "x: I=a > O=f", "x@2: I=a > O=g"];
    expect([...(ensembleRequirements(configOf({ ...ONE_STEP, steps })) ?? [])]).toEqual([
      ["x", [2, 3]],
      ["y", []],
    ]);
  });

  it("knows a model that is no ensemble", () => {
    expect(ensembleRequirements(model("x", COPY))).toBeUndefined();
  });
});

describe("neededSteps", () => {
  const diamond = plan(
    {
      ...ONE_STEP,
      outputs: "b FP32 [4]; c FP32 [4]; m FP32 [4]",
      steps: ["x: I=a > O=m", "x: I=m > O=b", "x: I=m > O=c"],
    },
    { x: COPY },
  );
  const needed = (...outputs: readonly string[]): readonly number[] =>
    [...neededSteps(diamond, outputs)].map(({ index }) => index).sort();

  it("leaves out what only other outputs need", () => {
    expect(needed("b")).toEqual([0, 1]);
    expect(needed("m")).toEqual([0]);
    expect(needed("b", "c", "m")).toEqual([0, 1, 2]);
  });

  it("keeps the step of an output that nobody wants where another step reads it", () => {
    expect(needed("c")).toEqual([0, 2]);
  });
});
