import type { ModelConfig } from "@naiad/model-config";
import { configDatatype, dataTypeName } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";
import { isSupported } from "./datatypes.ts";

/** Refuses what no device can do for this backend, before a worker is started for it: INVALID_ARG. */
export function checkSupported(config: ModelConfig): void {
  const { schedulingChoice: choice } = config;
  const states = choice.case === "sequenceBatching" ? choice.value.state : [];
  for (const [kind, tensors] of [
    ["input", config.input],
    ["output", config.output],
    ["state input", states.map(({ inputName, dataType }) => ({ name: inputName, dataType }))],
  ] as const) {
    for (const { name, dataType } of tensors) {
      if (isSupported(configDatatype(dataType))) continue;
      throw new InferenceError(
        "INVALID_ARG",
        `unsupported datatype ${dataTypeName(dataType)} for ${kind} '${name}' for model '${config.name}': ` +
          "ONNX Runtime Web has no such tensors",
      );
    }
  }
}
