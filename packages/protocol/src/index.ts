export * from "./datatype.ts";
export * from "./tensor.ts";
export * from "./status.ts";
export * from "./messages.ts";
export { hasSequenceId, sequenceOrNone } from "./sequence-flags.ts";
export * from "./settings.ts";
export * from "./shared-memory.ts";
export * from "./operations.ts";
export * from "./restricted-api.ts";
export * from "./metrics-config.ts";
export * from "./header-pattern.ts";
export * from "./cache-config.ts";
export * from "./request-rate-limit.ts";
export * from "./exchange.ts";
export * from "./compression.ts";
export * from "./capabilities.ts";
export * from "./server-options.ts";
export * from "./option-kinds.ts";
export * from "./client-contract.ts";
export * from "./json.ts";
export type { JsonNode } from "./json-node.ts";
export { readJson } from "./json-reader.ts";
export * from "./json-access.ts";
export * from "./elements.ts";
export * from "./half-float.ts";
export { widenedElements } from "./widened-elements.ts";
export type { WidenedArrays } from "./widened-elements.ts";
export { madeUpElements } from "./made-up-elements.ts";
export type { NestedValues, TensorValue } from "./nested-values.ts";
export * from "./tensor-values.ts";
export * from "./tensor-transfers.ts";
export type { InferMessage } from "./infer-message.ts";
export * from "./decode-infer-request.ts";
export * from "./decode-raw-infer-request.ts";
export * from "./decode-generate-request.ts";
export * from "./encode-infer-request.ts";
export * from "./decode-infer-response.ts";
export * from "./encode-infer-response.ts";
export * from "./encode-generate-response.ts";
export * from "./batch-tensors.ts";
export * from "./batch-inputs.ts";
export * from "./classification.ts";
export {
  checkCustomParameters,
  checkSequenceId,
  defineParameter,
  reservedParameter,
} from "./infer-parameters.ts";
export { requestShape } from "./request-shape.ts";
export * from "./request-id.ts";
export { nearestName } from "./nearest-name.ts";
