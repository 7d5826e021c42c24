import { describe, expect, it } from "vitest";
import type { EnsemblePlan, EnsembleStep } from "./ensemble-plan.ts";
import { neededSteps } from "./ensemble-plan.ts";
import { keptOutputs } from "./kept-outputs.ts";

/** `reads > writes` of each step, the names of its tensors being those of the model too. */
function planOf(...steps: readonly string[]): EnsemblePlan {
  return {
    ensembleName: "e",
    steps: steps.map((text, index): EnsembleStep => {
      const [reads = "", writes = ""] = text.split(" > ");
      const mappings = (names: string) => names.split(" ").map((name) => ({ name, tensor: name }));
      return {
        index,
        modelName: `m${String(index)}`,
        modelVersion: undefined,
        inputs: mappings(reads),
        outputs: mappings(writes),
        decoupled: false,
      };
    }),
    optionalInputs: [],
    decoupled: false,
    maxInflightRequests: 0,
    labelSources: new Map(),
  };
}

/** `workers` of each step, separated by spaces. Gives what each needed step may keep. */
function kept(
  plan: EnsemblePlan,
  requested: readonly string[],
  workers: readonly string[],
): readonly (readonly string[])[] {
  const needed = neededSteps(plan, requested);
  const workersOf = ({ index }: EnsembleStep): ReadonlySet<string> =>
    new Set((workers[index] ?? "").split(" ").filter((worker) => worker !== ""));
  return plan.steps.map((step) => keptOutputs(step, { plan, needed, requested, workersOf }));
}

const CHAIN = planOf("x > a", "a > b", "b > y");

describe("keptOutputs", () => {
  it("keeps what lies between the steps of one worker, but not the answer", () => {
    expect(kept(CHAIN, ["y"], ["g0", "g0", "g0"])).toEqual([["a"], ["b"], []]);
  });

  it("gives bytes to a model elsewhere, and to one without device memory", () => {
    expect(kept(CHAIN, ["y"], ["g0", "g1", "g1"])).toEqual([[], ["b"], []]);
    expect(kept(CHAIN, ["y"], ["g0", "", "g0"])).toEqual([[], [], []]);
  });

  it("needs a reader wherever the writer may run", () => {
    expect(kept(CHAIN, ["y"], ["g0 g1", "g0", "g0 g1"])).toEqual([[], ["b"], []]);
    expect(kept(CHAIN, ["y"], ["g0", "g0 g1", "g0 g1"])).toEqual([["a"], ["b"], []]);
  });

  it("gives bytes where the ensemble's own answer has the tensor too", () => {
    expect(kept(CHAIN, ["b", "y"], ["g0", "g0", "g0"])).toEqual([["a"], [], []]);
  });

  it("asks all steps that read a tensor, and only those that the request needs", () => {
    const fork = planOf("x > a", "a > y", "a > z");
    expect(kept(fork, ["y", "z"], ["g0", "g0", "g1"])[0]).toEqual([]);
    expect(kept(fork, ["y", "z"], ["g0", "g0", "g0"])[0]).toEqual(["a"]);
    expect(kept(fork, ["y"], ["g0", "g0", "g1"])[0]).toEqual(["a"]);
  });

  it("decides for each output by itself, and leaves out what nobody reads", () => {
    const wide = planOf("x > a b c", "a > y", "b > z");
    expect(kept(wide, ["y", "z"], ["g0", "g0", "g1"])[0]).toEqual(["a"]);
  });

  it("keeps no response of a decoupled model", () => {
    const [first, ...rest] = CHAIN.steps;
    const plan = { ...CHAIN, steps: first === undefined ? rest : [{ ...first, decoupled: true }, ...rest] };
    expect(kept(plan, ["y"], ["g0", "g0", "g0"])).toEqual([[], ["b"], []]);
  });
});
