import type { ConfigIssue, ModelConfig } from "@naiad/model-config";
import { dataTypeName, tryConfigDatatype } from "@naiad/model-config";
import { isSupported } from "./datatypes.ts";

/** Tensors that no device can have for this backend: known before a worker is started for them. */
export function unsupportedTensors(config: ModelConfig): readonly ConfigIssue[] {
  const { schedulingChoice: choice } = config;
  const states = choice.case === "sequenceBatching" ? choice.value.state : [];
  const tensors = [
    ...config.input.map((tensor, index) => ({ ...tensor, kind: "input", path: `input[${index}]` })),
    ...config.output.map((tensor, index) => ({ ...tensor, kind: "output", path: `output[${index}]` })),
    ...states.map(({ inputName: name, dataType }, index) => ({
      name,
      dataType,
      kind: "state input",
      path: `sequence_batching.state[${index}]`,
    })),
  ];
  return tensors.flatMap(({ kind, name, dataType, path }) => {
    const datatype = tryConfigDatatype(dataType);
    if (datatype === undefined || isSupported(datatype)) return [];
    const message =
      `unsupported datatype ${dataTypeName(dataType)} for ${kind} '${name}' for model '${config.name}': ` +
      "ONNX Runtime Web has no such tensors";
    return [{ code: "INVALID_ARG", message, path }];
  });
}
