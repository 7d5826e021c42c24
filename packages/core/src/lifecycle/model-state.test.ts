import { describe, expect, it } from "vitest";
import type { VersionEvent, VersionState } from "./model-state.ts";
import { isHealthy, nextVersionState } from "./model-state.ts";

const unknown: VersionState = { state: "UNKNOWN", reason: "" };
const loading: VersionState = { state: "LOADING", reason: "" };
const ready: VersionState = { state: "READY", reason: "" };
const unloading: VersionState = { state: "UNLOADING", reason: "" };
const unloaded: VersionState = { state: "UNAVAILABLE", reason: "unloaded" };
const failed: VersionState = { state: "UNAVAILABLE", reason: "Internal: no" };

const events: Readonly<Record<VersionEvent["kind"], VersionEvent>> = {
  load: { kind: "load" },
  loaded: { kind: "loaded", note: "" },
  updated: { kind: "updated", note: "" },
  failed: { kind: "failed", reason: "Internal: no" },
  discard: { kind: "discard" },
  unload: { kind: "unload" },
  drained: { kind: "drained" },
};

/** Every state against every event; what is not named makes no sense. */
const TABLE: readonly {
  readonly from: VersionState;
  readonly to: Partial<Record<VersionEvent["kind"], VersionState>>;
}[] = [
  { from: unknown, to: { load: loading } },
  { from: loading, to: { loaded: ready, failed, discard: unloading } },
  { from: ready, to: { unload: unloading, updated: ready } },
  { from: unloading, to: { drained: unloaded } },
  { from: unloaded, to: { load: loading } },
  { from: failed, to: { load: loading } },
];

describe("nextVersionState", () => {
  for (const { from, to } of TABLE) {
    for (const event of Object.values(events)) {
      const next = to[event.kind];
      it(`${from.state} (${from.reason}) + ${event.kind} -> ${next?.state ?? "refused"}`, () => {
        expect(nextVersionState(from, event)).toEqual(next);
      });
    }
  }

  it("keeps the note of a load or an update that succeeded", () => {
    const note = "runs on the CPU";
    expect(nextVersionState(loading, { kind: "loaded", note })).toEqual({ state: "READY", reason: note });
    expect(nextVersionState(ready, { kind: "updated", note })).toEqual({ state: "READY", reason: note });
  });
});

it("a version that went out of service for a reason shows the last one it had, and not that it was unloaded", () => {
  const refused = nextVersionState(ready, { kind: "unload", reason: "a" });
  expect(refused).toEqual({ state: "UNLOADING", reason: "a" });
  const again = nextVersionState({ state: "UNLOADING", reason: "a" }, { kind: "unload", reason: "b" });
  expect(again).toEqual({ state: "UNLOADING", reason: "b" });
  expect(nextVersionState({ state: "UNLOADING", reason: "b" }, { kind: "drained" })).toEqual({
    state: "UNAVAILABLE",
    reason: "b",
  });
});

describe("isHealthy", () => {
  it.each([
    [unknown, false],
    [loading, false],
    [ready, true],
    [{ ...ready, reason: "runs on the CPU" }, true],
    [unloading, false],
    [unloaded, true],
    [failed, false],
    [{ ...unloaded, reason: "" }, false],
  ])("%j -> %s", (state, healthy) => {
    expect(isHealthy(state)).toBe(healthy);
  });
});
