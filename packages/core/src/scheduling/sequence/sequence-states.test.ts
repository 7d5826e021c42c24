import type { BytesTensor } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { SequenceState } from "./sequence-states.ts";
import { executedOutputs, initialStates, nextStates } from "./sequence-states.ts";

function tensor(name: string, value: number): BytesTensor {
  return { kind: "bytes", name, datatype: "UINT8", shape: [1, 1], bytes: Uint8Array.of(value) };
}

const STATES: readonly SequenceState[] = [
  { inputName: "a", outputName: "next_a", initial: tensor("a", 1) },
  { inputName: "b", outputName: "next_b", initial: tensor("b", 2) },
];

describe("states", () => {
  it("begin as configured", () => {
    expect(initialStates(STATES)).toEqual([tensor("a", 1), tensor("b", 2)]);
  });

  it("become what the model gives, under the names of its inputs, and stay where it gives none", () => {
    const once = nextStates(STATES, initialStates(STATES), [tensor("y", 9), tensor("next_b", 3)]);
    expect(once).toEqual([tensor("a", 1), tensor("b", 3)]);
    expect(nextStates(STATES, once, [tensor("next_a", 4)])).toEqual([tensor("a", 4), tensor("b", 3)]);
  });

  it("are asked for once, behind what the client wants", () => {
    expect(executedOutputs(STATES, ["y"])).toEqual(["y", "next_a", "next_b"]);
    expect(executedOutputs(STATES, ["next_b", "y"])).toEqual(["next_b", "y", "next_a"]);
    expect(executedOutputs([], ["y"])).toEqual(["y"]);
  });
});
