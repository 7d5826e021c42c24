import { describe, expect, it } from "vitest";
import { modelTable } from "./model-table.ts";

describe("modelTable", () => {
  it("lists versions with their states, and the reason of what is not ready", () => {
    expect(
      modelTable([
        { name: "known_only" },
        { name: "m", version: "1", state: "READY", reason: "instance m_0 runs on wasm" },
        { name: "broken", version: "12", state: "UNAVAILABLE", reason: "Internal: no\n  model" },
      ]),
    ).toBe(
      [
        "+--------+---------+---------------------------------+",
        "| Model  | Version | Status                          |",
        "+--------+---------+---------------------------------+",
        "| m      | 1       | READY                           |",
        "| broken | 12      | UNAVAILABLE: Internal: no model |",
        "+--------+---------+---------------------------------+",
      ].join("\n"),
    );
  });

  it("is only its head where nothing was loaded", () => {
    expect(modelTable([{ name: "m" }]).split("\n")).toEqual([
      "+-------+---------+--------+",
      "| Model | Version | Status |",
      "+-------+---------+--------+",
    ]);
  });
});
