export * from "./gen/model_config_pb.ts";

export type { ConfigFault, ConfigReadResult } from "./config-fault.ts";
export { formatFault } from "./config-fault.ts";
export { findConfigFaults, parseConfigText, printConfigText, readConfigText } from "./text.ts";
export { locateField } from "./locate-field.ts";
export type { ConfigJsonResult } from "./json.ts";
export { parseConfigJson, readConfigJson } from "./json.ts";
export { printConfig } from "./print.ts";
export { decodeConfig, encodeConfig } from "./binary.ts";

export type { EntryKind, ModelDirectory } from "./model-directory.ts";
export { joinedPath } from "./joined-path.ts";
export { completeBackend } from "./backend.ts";
export type { VersionDirectories, VersionSelection } from "./versions.ts";
export { listVersions, selectVersions, versionsToLoad } from "./versions.ts";
export { normalizeConfig } from "./normalize.ts";
export { withTransactionPolicy } from "./transaction-policy.ts";
export type { InstanceGroupContext, InstanceSettings, PreferredGroup } from "./instance-groups.ts";
export { listInstances, normalizeInstanceGroups } from "./instance-groups.ts";

export type { ConfigIssue } from "./config-issue.ts";
export { assertNoIssues } from "./config-issue.ts";
export type { ValidationContext } from "./validate.ts";
export { validateConfig } from "./validate.ts";
export { validateInstanceGroups } from "./validate-instance-groups.ts";
export type { ControlKind, ControlSearch, SequenceControl } from "./sequence-controls.ts";
export { findControl } from "./sequence-controls.ts";

export type { ByteSource } from "./byte-source.ts";
export { byteSourceOf } from "./byte-source.ts";
export type { OnnxModel } from "./onnx-model.ts";
export type { OnnxDimension, OnnxType, OnnxValue } from "./onnx-value.ts";
export { readOnnxModel } from "./onnx-model.ts";
export type { OnnxInitializer, OnnxInitializerContent } from "./onnx-initializer.ts";
export type { ExtractedInitializers } from "./extract-initializers.ts";
export { extractInitializers } from "./extract-initializers.ts";
export type { NonTensorOutputs, OnnxTensor } from "./onnx-tensors.ts";
export { onnxDataType, onnxTensor } from "./onnx-tensors.ts";
export type { OnnxAutoCompleteOptions } from "./autocomplete.ts";
export { autoCompleteOnnx, ONNX_AUTO_COMPLETE_DEFAULTS } from "./autocomplete.ts";
export { checkOnnxModel } from "./check-onnx.ts";

export { configDatatype, dataTypeName, tryConfigDatatype } from "./config-datatype.ts";
export type {
  InputSignature,
  ModelSignature,
  OutputSignature,
  PrioritySignature,
  TensorSignature,
} from "./signature.ts";
export { modelSignature, toSize } from "./signature.ts";
export type { BatchInputSignature, BatchSignature } from "./batch-signature.ts";
export { batchSignature } from "./batch-signature.ts";
