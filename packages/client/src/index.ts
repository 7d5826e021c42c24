export * from "./transport.ts";
export * from "./port-transport.ts";
export * from "./fetch-transport.ts";
export * from "./inference-client.ts";
export type { InferCall, SequenceCall } from "./infer-request.ts";
export type * from "./infer-result.ts";
export type { NestedValues, TensorContent as InferInput, TensorValue } from "@naiad/protocol";
