import type { GraphProto } from "@naiad/testing/fixture-models";

/**
 * Puts a prefix on every name of a value and of a node, also inside the graphs of nodes, which see the values of the
 * graphs around them by name. The nodes can then stand in the middle of another graph without meeting a name of it.
 * Changes `graph` itself.
 */
export function prefixNames(graph: GraphProto, prefix: string): void {
  // An empty name is an optional input that is left out.
  const prefixed = (name: string): string => (name === "" ? "" : prefix + name);
  const named = [...graph.input, ...graph.output, ...graph.valueInfo, ...graph.initializer, ...graph.node];
  for (const item of named) item.name = prefixed(item.name);
  for (const { values } of graph.sparseInitializer) if (values) values.name = prefixed(values.name);
  for (const annotation of graph.quantizationAnnotation) {
    annotation.tensorName = prefixed(annotation.tensorName);
  }
  for (const node of graph.node) {
    node.input = node.input.map(prefixed);
    node.output = node.output.map(prefixed);
    for (const { g, graphs } of node.attribute) {
      for (const inner of g === undefined ? graphs : [g, ...graphs]) prefixNames(inner, prefix);
    }
  }
}
