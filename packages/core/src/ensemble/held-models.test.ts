import { InferenceError } from "@naiad/protocol";
import { fakeServing } from "@naiad/testing";
import { expect, it } from "vitest";
import type { EnsembleStep } from "./ensemble-plan.ts";
import { holdModels } from "./held-models.ts";

const step = (index: number, modelName: string, modelVersion?: number): EnsembleStep => ({
  index,
  modelName,
  modelVersion,
  inputs: [],
  outputs: [],
  decoupled: false,
});

/** Counts who holds what, by `name:version`. */
function setUp() {
  const holds: Record<string, number> = {};
  const find = (modelName: string, version: number | undefined) => {
    if (modelName === "absent") throw new InferenceError("NOT_FOUND", "it is not there");
    const key = `${modelName}:${String(version)}`;
    return {
      ...fakeServing(version ?? 9),
      hold: () => {
        holds[key] = (holds[key] ?? 0) + 1;
        return () => {
          holds[key] = (holds[key] ?? 0) - 1;
        };
      },
    };
  };
  return { holds, find };
}

it("holds a model once for all steps that use the same version of it, and lets go of it once", () => {
  const { holds, find } = setUp();
  const [first, second, other] = [step(0, "m"), step(1, "m"), step(2, "m", 1)];
  const models = holdModels([first, second, other], find);
  expect(holds).toEqual({ "m:undefined": 1, "m:1": 1 });
  expect(models.of(first)).toBe(models.of(second));
  expect([models.of(first).version, models.of(other).version]).toEqual([9, 1]);
  models.release();
  models.release();
  expect(holds).toEqual({ "m:undefined": 0, "m:1": 0 });
});

it("lets go of what it holds already when a model is not there", () => {
  const { holds, find } = setUp();
  expect(() => holdModels([step(0, "m"), step(1, "absent")], find)).toThrow("it is not there");
  expect(holds).toEqual({ "m:undefined": 0 });
});
