import { describe, expect, it } from "vitest";
import type { DirectCandidate, DirectConfig } from "./direct-batch.ts";
import { formDirectBatch } from "./direct-batch.ts";

const CONFIG: DirectConfig = { slotCount: 4, maxQueueDelayNs: 0, minimumSlotUtilization: 0 };
const DELAYED: DirectConfig = { slotCount: 4, maxQueueDelayNs: 100, minimumSlotUtilization: 0.5 };

function at(enqueueNs: number, shapeKey = ""): DirectCandidate {
  return { enqueueNs, shapeKey };
}

/** Slots of the rows that carry a request, `-` for the others. */
function shown(ready: readonly (DirectCandidate | undefined)[], config: DirectConfig, nowNs: number): string {
  const decision = formDirectBatch(ready, config, nowNs);
  switch (decision.kind) {
    case "idle":
      return "idle";
    case "wait":
      return `wait until ${decision.untilNs}`;
    case "dispatch":
      return `${decision.rows.map((row, slot) => (row === undefined ? "-" : slot)).join("")} ${decision.limit}`;
  }
}

describe("formDirectBatch", () => {
  const none = undefined;
  it.each([
    ["nothing is ready", [none, none], "idle"],
    ["one slot is ready", [at(10), none], "0 no_delay"],
    ["rows below the highest ready slot are filled", [none, at(10), none, at(10)], "-1-3 no_delay"],
    ["every slot is ready", [at(10), at(10), at(10), at(10)], "0123 full"],
    ["they waited for the instance", [at(5), at(9)], "01 instance_busy"],
    ["another shape waits for its own turn", [at(5, "a"), at(6, "b"), at(7, "a")], "0-2 shape"],
    ["the oldest has another shape than the lowest slot", [at(6, "a"), at(5, "b"), at(7, "a")], "-1- shape"],
    ["the highest slot has another shape", [at(5, "a"), at(7, "b")], "0- shape"],
  ])("without a delay: %s", (_name, ready, expected) => {
    expect(shown(ready, CONFIG, 10)).toBe(expected);
  });

  it.each([
    ["too few, and not long enough", [at(0)], 50, "wait until 100"],
    ["the oldest decides", [at(40), none, at(90), none].slice(0, 1), 139, "wait until 140"],
    ["long enough", [none, at(0)], 100, "-1 queue_empty"],
    ["enough of them", [none, at(49), at(50)], 50, "-12 preferred_batch_size"],
    ["all of them", [at(50), at(50), at(50), at(50)], 50, "0123 full"],
  ])("with a delay and a utilization: %s", (_name, ready, nowNs, expected) => {
    expect(shown(ready, DELAYED, nowNs)).toBe(expected);
  });

  it.each([
    ["a delay alone", { ...DELAYED, minimumSlotUtilization: 0 }],
    ["a utilization alone", { ...DELAYED, maxQueueDelayNs: 0 }],
  ])("does not wait for %s", (_name, config) => {
    expect(shown([at(50)], config, 50)).toBe("0 no_delay");
  });

  it("says that a model of one row does not batch", () => {
    expect(shown([at(0)], { ...CONFIG, slotCount: 1 }, 0)).toBe("0 not_batching");
  });
});
