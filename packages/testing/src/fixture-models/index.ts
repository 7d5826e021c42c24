export { fixtureModels } from "./fixture-models.ts";
export { ensembleModels } from "./ensemble-models.ts";
export { sequenceModels } from "./sequence-models.ts";
export * from "./models.ts";
export * from "./onnx-graph.ts";
export { tinyDecoderModel } from "./tiny-decoder-model.ts";
export { continueText, tinyStory } from "./tiny-decoder-reference.ts";
export { TINY_DECODER } from "./tiny-decoder-weights.ts";
