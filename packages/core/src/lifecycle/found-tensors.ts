import type { ModelConfig, TensorSignature } from "@naiad/model-config";
import { modelSignature } from "@naiad/model-config";
import { clientTensor } from "./client-tensor.ts";

/**
 * For the log: what requests to a model look like whose configuration says nothing of its inputs or outputs. `undefined` where
 * `written`, which is as its author wrote it, names both, or the model itself names none either.
 */
export function foundTensors(written: ModelConfig, config: ModelConfig): string | undefined {
  const signature = modelSignature(config);
  const list = (tensors: readonly TensorSignature[]): string =>
    tensors
      .map((tensor) => clientTensor(signature, tensor))
      .map(({ name, datatype, shape }) => `${name} ${datatype} [${shape.join(",")}]`)
      .join(", ");
  const parts: string[] = [];
  if (written.input.length === 0 && config.input.length > 0) parts.push(`inputs ${list(signature.inputs)}`);
  if (written.output.length === 0 && config.output.length > 0)
    parts.push(`outputs ${list(signature.outputs)}`);
  if (parts.length === 0) return undefined;
  return `auto-completed configuration of '${config.name}': ${parts.join("; ")}`;
}
