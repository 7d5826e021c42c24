import { describe, expect, it } from "vitest";
import { nextSearchStep } from "./host-search.ts";

const PATIENCE = { startingMs: 10_000, silentMs: 3_000, failedMs: 200, askEveryMs: 500 };

describe("nextSearchStep", () => {
  it.each([
    ["at once", { elapsedMs: 0 }, { kind: "ask", nextMs: 500 }],
    ["for the rest of the time", { elapsedMs: 2900 }, { kind: "ask", nextMs: 100 }],
    ["no longer, when no page says anything", { elapsedMs: 3000 }, { kind: "give-up" }],
    ["longer, when one is starting", { elapsedMs: 3000, sinceSignMs: 400 }, { kind: "ask", nextMs: 500 }],
    ["not for ever", { elapsedMs: 10_000, sinceSignMs: 0 }, { kind: "give-up" }],
    [
      "no longer, when the one that was starting has gone",
      { elapsedMs: 6000, sinceSignMs: 3100 },
      { kind: "give-up" },
    ],
    [
      "a little longer, when one has failed",
      { elapsedMs: 100, sinceFailureMs: 50 },
      { kind: "ask", nextMs: 150 },
    ],
    [
      "no longer, when no other has a host then",
      { elapsedMs: 300, sinceFailureMs: 200 },
      { kind: "give-up" },
    ],
    [
      "longer, when one has failed and another is starting",
      { elapsedMs: 5000, sinceSignMs: 100, sinceFailureMs: 900 },
      { kind: "ask", nextMs: 500 },
    ],
  ] as const)("asks %s", (_case, state, expected) => {
    expect(nextSearchStep(state, PATIENCE)).toEqual(expected);
  });
});
