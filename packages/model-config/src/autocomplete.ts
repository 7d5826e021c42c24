import { clone, create } from "@bufbuild/protobuf";
import { InferenceError } from "@naiad/protocol";
import type { DataType, ModelConfig, ModelTensorReshape } from "./gen/model_config_pb.ts";
import {
  ModelConfigSchema,
  ModelDynamicBatchingSchema,
  ModelInputSchema,
  ModelOutputSchema,
  ModelTensorReshapeSchema,
} from "./gen/model_config_pb.ts";
import type { OnnxModel } from "./onnx-model.ts";
import type { NonTensorOutputs, OnnxTensor } from "./onnx-tensors.ts";
import { onnxDataType, onnxTensor, usableOutputs } from "./onnx-tensors.ts";

export interface OnnxAutoCompleteOptions {
  /** `default-max-batch-size` of the backend's configuration, for models that batch and do not say how much. */
  readonly defaultMaxBatchSize: number;
  readonly nonTensorOutputs: NonTensorOutputs;
}

/** Triton's defaults. */
export const ONNX_AUTO_COMPLETE_DEFAULTS: OnnxAutoCompleteOptions = {
  defaultMaxBatchSize: 4,
  nonTensorOutputs: "refuse",
};

/**
 * Completes a configuration from the model's file as Triton's ONNX Runtime backend does: nothing when inputs and outputs
 * are given; otherwise batch size, dynamic batching and whichever list is empty. An explicit `max_batch_size: 0` is
 * taken for an absent one. To be normalised again afterwards.
 */
export function autoCompleteOnnx(
  config: ModelConfig,
  model: Pick<OnnxModel, "inputs" | "outputs">,
  options: OnnxAutoCompleteOptions = ONNX_AUTO_COMPLETE_DEFAULTS,
): ModelConfig {
  const hasInputs = config.input.length + config.batchInput.length > 0;
  const hasOutputs = config.output.length > 0;
  if (hasInputs && hasOutputs) return config;
  const inputs = model.inputs.map(onnxTensor);
  const outputs = usableOutputs(model.outputs, options.nonTensorOutputs);
  const completed = clone(ModelConfigSchema, config);
  completeBatching(completed, [...inputs, ...outputs], options.defaultMaxBatchSize);
  const isBatching = completed.maxBatchSize > 0;
  const ofBatcher = sequenceTensors(config);
  if (!hasInputs) {
    completed.input = inputs
      .filter(({ name }) => !ofBatcher.inputs.has(name))
      .map((tensor) => create(ModelInputSchema, declare(tensor, { isBatching })));
  }
  if (!hasOutputs) {
    completed.output = outputs
      .filter(({ name }) => !ofBatcher.outputs.has(name))
      .map((tensor) => create(ModelOutputSchema, declare(tensor, { isBatching })));
  }
  return completed;
}

/**
 * Tensors of the model that the sequence batcher feeds and takes, so that no client sees them. Triton completes them like
 * any other and then refuses what it has completed.
 */
function sequenceTensors({ schedulingChoice: choice }: ModelConfig): {
  readonly inputs: ReadonlySet<string>;
  readonly outputs: ReadonlySet<string>;
} {
  if (choice.case !== "sequenceBatching") return { inputs: new Set(), outputs: new Set() };
  const { controlInput, state } = choice.value;
  return {
    inputs: new Set([...controlInput.map(({ name }) => name), ...state.map(({ inputName }) => inputName)]),
    outputs: new Set(state.map(({ outputName }) => outputName)),
  };
}

function completeBatching(
  config: ModelConfig,
  tensors: readonly OnnxTensor[],
  defaultMaxBatchSize: number,
): void {
  const supportsBatching = tensors.every(({ dims }) => dims[0] === -1);
  if (!supportsBatching) {
    if (config.maxBatchSize === 0) return;
    throw new InferenceError(
      "INVALID_ARG",
      `autofill failed for model '${config.name}': model does not support batching while non-zero max_batch_size ` +
        "is specified",
    );
  }
  if (config.maxBatchSize === 0) config.maxBatchSize = Math.max(defaultMaxBatchSize, 0);
  if (config.maxBatchSize > 1 && config.schedulingChoice.case === undefined) {
    config.schedulingChoice = { case: "dynamicBatching", value: create(ModelDynamicBatchingSchema) };
  }
}

interface Declaration {
  name: string;
  dataType: DataType;
  dims: bigint[];
  reshape?: ModelTensorReshape;
}

/**
 * The tensor in a configuration's words: no batch dimension, and a scalar as one element that is reshaped. A size of 0 has
 * no word there, so it is declared as any size; Triton completes it to 0 and then refuses what it has completed.
 */
function declare(tensor: OnnxTensor, { isBatching }: { readonly isBatching: boolean }): Declaration {
  const { name } = tensor;
  const dataType = onnxDataType(tensor.elementType);
  const dims = tensor.dims.slice(isBatching ? 1 : 0).map((dim) => (dim === 0 ? -1n : BigInt(dim)));
  if (dims.length > 0) return { name, dataType, dims };
  return { name, dataType, dims: [1n], ...(isBatching ? { reshape: create(ModelTensorReshapeSchema) } : {}) };
}
