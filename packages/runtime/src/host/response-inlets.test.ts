import type { ExecuteContext } from "@naiad/core";
import { createFakeClock } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { createResponseInlets } from "./response-inlets.ts";

function setUp() {
  const clock = createFakeClock();
  const told: string[] = [];
  const inlets = createResponseInlets({
    worker: () => ({ notify: (name) => told.push(name) }),
    onClosed: () => told.push("closed"),
    clock,
    onLeftOpen: () => told.push("left open"),
  });
  const gone = new AbortController();
  const context: ExecuteContext = {
    responses: { response: () => Promise.resolve(), end: () => undefined },
    signals: [gone.signal],
  };
  const executionId = inlets.open(context);
  return { clock, told, inlets, gone, executionId };
}

describe("a cancelled request of a decoupled model", () => {
  it("that stays open long after its execution is told of, once", async () => {
    const { clock, told, inlets, gone, executionId } = setUp();
    inlets.executed(executionId, [{ kind: "decoupled" }]);
    gone.abort();
    await clock.advance(9_999e6);
    expect(told).toEqual(["cancel"]);
    await clock.advance(100_000e6);
    expect(told).toEqual(["cancel", "left open"]);
  });

  it("is nobody's fault when it ends in time, or while its execution is under the watchdog's eye", async () => {
    const ended = setUp();
    ended.inlets.executed(ended.executionId, [{ kind: "decoupled" }]);
    ended.gone.abort();
    await ended.clock.advance(5_000e6);
    ended.inlets.notes.end({ executionId: ended.executionId, index: 0 });
    const running = setUp();
    running.gone.abort();
    await Promise.all([ended, running].map(({ clock }) => clock.advance(100_000e6)));
    expect(ended.told).toEqual(["cancel", "closed"]);
    expect(running.told).toEqual(["cancel"]);
    expect(ended.clock.timerCount).toBe(0);
  });
});
