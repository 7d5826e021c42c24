import { createCollectingLogger, createFakeClock } from "@naiad/testing";
import { expect, it } from "vitest";
import type { StepSlots } from "./step-slots.ts";
import { createStepSlots } from "./step-slots.ts";

function setUp(maxInflightRequests: number) {
  const clock = createFakeClock();
  const logger = createCollectingLogger();
  const slots: StepSlots = createStepSlots({ ensembleName: "e", maxInflightRequests, clock, logger });
  const entered: string[] = [];
  const enter = (name: string, stepIndex = 0): (() => void) | undefined =>
    slots.enter(stepIndex, () => {
      entered.push(name);
    });
  return { clock, logger, slots, entered, enter };
}

it("limits each step by itself and lets the next in when one leaves", () => {
  const { slots, entered, enter } = setUp(1);
  enter("a");
  enter("b");
  enter("c", 1);
  expect(entered).toEqual(["a", "c"]);
  slots.leave(0);
  expect(entered).toEqual(["a", "c", "b"]);
});

it("forgets who gave the wait up", () => {
  const { clock, slots, entered, enter } = setUp(1);
  enter("a");
  const giveUp = enter("b");
  enter("c");
  giveUp?.();
  slots.leave(0);
  slots.leave(0);
  enter("d");
  expect(entered).toEqual(["a", "c", "d"]);
  expect(clock.timerCount).toBe(0);
});

it("lets in after 300 seconds, and says so: that is better than never", async () => {
  const { clock, logger, slots, entered, enter } = setUp(1);
  enter("a");
  enter("b");
  await clock.advance(300e9);
  expect(entered).toEqual(["a", "b"]);
  expect(logger.lines.map(({ message }) => message)).toEqual([
    "[Internal Error] Ensemble 'e' unable to schedule step 0 (inflight: 1 >= limit: 1) for 300 seconds. Proceeding to " +
      "avoid deadlock.",
  ]);
  enter("c");
  slots.leave(0);
  expect(entered).toEqual(["a", "b"]);
  slots.leave(0);
  expect(entered).toEqual(["a", "b", "c"]);
});

it("has no limit of 0", () => {
  const { entered, enter } = setUp(0);
  for (const name of ["a", "b", "c"]) enter(name);
  expect(entered).toEqual(["a", "b", "c"]);
});
