export { fixtureModels } from "./fixture-models.ts";
export * from "./models.ts";
export * from "./onnx-graph.ts";
