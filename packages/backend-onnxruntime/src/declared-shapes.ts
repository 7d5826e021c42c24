import type {
  ModelConfig,
  ModelInput,
  ModelOutput,
  OnnxDimension,
  OnnxModel,
  OnnxValue,
} from "@naiad/model-config";

/**
 * The model with the configuration's shapes where its file leaves them open. ONNX Runtime fills such gaps by inference
 * over the graph, which only a session can do; instead the configuration is believed here and held against every result.
 */
export function declareShapes(model: OnnxModel, config: ModelConfig): OnnxModel {
  const { inputs, outputs } = model;
  const { schedulingChoice: choice } = config;
  const states = choice.case === "sequenceBatching" ? choice.value.state : [];
  const stateInputs = states.map(({ inputName, dims }) => ({ name: inputName, dims }));
  return {
    ...model,
    inputs: inputs.map((value) =>
      withRank(value, declaredShape(config, [...config.input, ...stateInputs], value.name)),
    ),
    outputs: outputs.map((value) => withSizes(value, declaredShape(config, config.output, value.name))),
  };
}

function declaredShape(
  config: ModelConfig,
  tensors: readonly Pick<ModelInput | ModelOutput, "name" | "dims" | "reshape">[],
  name: string,
): readonly OnnxDimension[] | undefined {
  const tensor = tensors.find((candidate) => candidate.name === name);
  if (tensor === undefined) return undefined;
  const dims = (tensor.reshape?.shape ?? tensor.dims).map((dim) => (dim < 0n ? undefined : Number(dim)));
  return config.maxBatchSize > 0 ? [undefined, ...dims] : dims;
}

function withRank(value: OnnxValue, declared: readonly OnnxDimension[] | undefined): OnnxValue {
  if (value.type.kind !== "tensor" || value.type.shape !== undefined || declared === undefined) return value;
  return { ...value, type: { ...value.type, shape: declared } };
}

function withSizes(value: OnnxValue, declared: readonly OnnxDimension[] | undefined): OnnxValue {
  if (value.type.kind !== "tensor" || declared === undefined) return value;
  const { shape } = value.type;
  if (shape === undefined) return withRank(value, declared);
  if (shape.length !== declared.length) return value;
  const filled = shape.map((size, index) => (typeof size === "number" ? size : declared[index]));
  return { ...value, type: { ...value.type, shape: filled } };
}
