import { describe, expect, it } from "vitest";
import type { Dependencies, Upstream } from "./dependency-graph.ts";
import { circleFault, dependencyFault, dependentsInOrder, goesWith } from "./dependency-graph.ts";

/** `e: x y`: ensemble e needs x and y. */
const graph = (...lines: readonly string[]): Dependencies =>
  new Map(
    lines.map((line) => {
      const [name = "", needs = ""] = line.split(": ");
      return [name, new Map(needs.split(" ").map((needed) => [needed, []]))];
    }),
  );

describe("dependencyFault", () => {
  const READY: Upstream = { kind: "ready", versions: [1, 2] };

  it.each<[Readonly<Record<string, Upstream>>, string | undefined]>([
    [{ x: READY, y: READY }, undefined],
    [
      { x: { kind: "missing" }, y: { kind: "missing" } },
      "ensemble e contains models that are not available or ambiguous: x, y",
    ],
    [
      { x: { kind: "missing", reason: "model 'x' is not in any model repository" }, y: READY },
      "ensemble e contains models that are not available or ambiguous: x; model 'x' is not in any model repository",
    ],
    [
      { x: READY, y: { kind: "invalid", reason: "because" } },
      "ensemble 'e' depends on 'y' which is not valid. Model 'y' failed with error: because",
    ],
    [{ x: { kind: "down" }, y: READY }, "ensemble 'e' depends on 'x' which has no loaded version."],
    [
      { x: { kind: "down", reason: "because" }, y: READY },
      "ensemble 'e' depends on 'x' which has no loaded version. Model 'x' loading failed with error: because",
    ],
    [
      { x: { kind: "ready", versions: [3] }, y: READY },
      "ensemble 'e' depends on 'x' whose required version 2 is not loaded.",
    ],
  ])("with %j: %s", (upstreams, text) => {
    const requirements = new Map<string, readonly number[]>([
      ["x", [2]],
      ["y", []],
    ]);
    expect(dependencyFault("e", requirements, (name) => upstreams[name] ?? { kind: "missing" })).toBe(text);
  });
});

it("says how to ask for the latest version, where a step says nothing of one", () => {
  const requirements = new Map([["x", [0]]]);
  expect(dependencyFault("e", requirements, () => ({ kind: "ready", versions: [1] }))).toBe(
    "ensemble 'e' depends on 'x' whose required version 0 is not loaded. (write `model_version: -1` for the latest)",
  );
});

describe("circleFault", () => {
  it.each([
    [graph("a: a"), "circular dependency between ensembles: a -> ... -> a -> a"],
    [graph("a: b", "b: a"), "circular dependency between ensembles: a -> ... -> b -> a"],
    [graph("a: x b", "b: y c", "c: a"), "circular dependency between ensembles: a -> ... -> c -> a"],
    [graph("a: b", "b: x"), undefined],
    [graph("a: b", "b: c", "c: b"), undefined],
  ])("of %o", (dependencies, text) => {
    expect(circleFault(dependencies, "a")).toBe(text);
  });
});

describe("dependentsInOrder", () => {
  it.each([
    [graph("e: x", "f: y"), "x", ["e"]],
    [graph("f: e x", "e: x"), "x", ["e", "f"]],
    [graph("g: f", "f: e", "e: x"), "x", ["e", "f", "g"]],
    [graph("e: x f", "f: e"), "x", ["e", "f"]],
    [graph("e: x"), "e", []],
  ])("of %o", (dependencies, name, order) => {
    expect(dependentsInOrder(dependencies, name)).toEqual(order);
  });
});

describe("goesWith", () => {
  const askedFor =
    (...names: readonly string[]) =>
    (name: string): boolean =>
      names.includes(name);

  it("takes along what the ensemble alone needs, by way of others too", () => {
    expect(goesWith(graph("e: f x", "f: y"), "e", askedFor("e"))).toEqual(["f", "x", "y"]);
  });

  it("leaves what was asked for, and what others need that stay", () => {
    expect(goesWith(graph("e: x y z", "f: z"), "e", askedFor("e", "f", "y"))).toEqual(["x"]);
  });

  it("is empty for a model that is no ensemble", () => {
    expect(goesWith(graph("e: x"), "x", askedFor())).toEqual([]);
  });
});
