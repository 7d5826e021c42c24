import type { Graph, GraphProto } from "@naiad/testing/fixture-models";
import {
  attribute,
  bools,
  ElementType,
  floats,
  node,
  onnxModel,
  readModel,
  value,
} from "@naiad/testing/fixture-models";
import { describe, expect, it } from "vitest";
import { prefixNames } from "./prefix-names.ts";

const FLOAT = ElementType.FLOAT;

function prefixed(graph: Graph): GraphProto {
  const read = readModel(onnxModel(graph)).graph;
  if (read === undefined) throw new Error("a model has a graph");
  prefixNames(read, "m/");
  return read;
}

function wiring({ node: nodes }: GraphProto): readonly (readonly string[])[] {
  return nodes.map(({ input, opType, output }) => [...input, opType, ...output]);
}

describe("prefixNames", () => {
  it("renames inputs, outputs, weights and what the nodes pass on", () => {
    const graph = prefixed({
      name: "scaled",
      input: [value("X", FLOAT, [1])],
      output: [value("Y", FLOAT, [1])],
      valueInfo: [value("between", FLOAT, [1])],
      initializer: [floats("factor", [], [2])],
      node: [node("Mul", ["X", "factor"], ["between"]), node("Relu", ["between"], ["Y"])],
    });
    const names = [graph.input, graph.output, graph.valueInfo, graph.initializer, graph.node];
    expect(names.map((items) => items.map(({ name }) => name))).toEqual([
      ["m/X"],
      ["m/Y"],
      ["m/between"],
      ["m/factor"],
      ["m/between", "m/Y"],
    ]);
    expect(wiring(graph)).toEqual([
      ["m/X", "m/factor", "Mul", "m/between"],
      ["m/between", "Relu", "m/Y"],
    ]);
  });

  it("renames inside the graphs of nodes, where values from around them are used", () => {
    const branch = (opType: string): Graph => ({
      name: opType,
      output: [value("result", FLOAT, [1])],
      node: [node(opType, ["X"], ["result"])],
    });
    const graph = prefixed({
      name: "choice",
      input: [value("X", FLOAT, [1])],
      output: [value("Y", FLOAT, [1])],
      initializer: [bools("flag", [], [true])],
      node: [
        node(
          "If",
          ["flag"],
          ["Y"],
          [attribute.graph("then_branch", branch("Relu")), attribute.graph("else_branch", branch("Neg"))],
        ),
      ],
    });
    const branches = graph.node[0]?.attribute.map(({ g }) => g && [wiring(g), g.output[0]?.name]);
    expect(branches).toEqual([
      [[["m/X", "Relu", "m/result"]], "m/result"],
      [[["m/X", "Neg", "m/result"]], "m/result"],
    ]);
  });

  it("leaves an input that is left out as it is", () => {
    const graph = prefixed({
      name: "clipped",
      input: [value("X", FLOAT, [1])],
      output: [value("Y", FLOAT, [1])],
      initializer: [floats("high", [], [6])],
      node: [node("Clip", ["X", "", "high"], ["Y"])],
    });
    expect(wiring(graph)).toEqual([["m/X", "", "m/high", "Clip", "m/Y"]]);
  });
});
