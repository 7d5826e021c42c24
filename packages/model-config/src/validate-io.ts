import type { ConfigIssue } from "./config-issue.ts";
import { invalid } from "./config-issue.ts";
import type { BatchInput, BatchOutput, ModelConfig, ModelInput, ModelOutput } from "./gen/model_config_pb.ts";
import {
  BatchInput_KindSchema,
  BatchOutput_KindSchema,
  DataType,
  ModelInput_Format as Format,
} from "./gen/model_config_pb.ts";
import { TENSORRT } from "./platforms.ts";
import { describeShapeFault } from "./validate-shape.ts";

/**
 * Inputs, outputs, batch inputs and batch outputs. At poll Triton looks at them only where auto-complete is off: else
 * they may come from the model.
 */
export function validateIo(config: ModelConfig): readonly ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const add = (path: string, fault: string | undefined): void => {
    if (fault !== undefined) issues.push(invalid(path, `${fault} for ${config.name}`));
  };
  for (const [index, input] of config.input.entries())
    add(`input[${index}]`, describeInputFault(config, input));
  for (const [index, output] of config.output.entries()) {
    add(`output[${index}]`, describeTensorFault(config, output, "output"));
  }
  const inputNames = new Set(config.input.map(({ name }) => name));
  const outputNames = new Set(config.output.map(({ name }) => name));
  for (const [index, batchInput] of config.batchInput.entries()) {
    add(`batch_input[${index}]`, describeBatchInputFault(batchInput, inputNames));
  }
  for (const [index, batchOutput] of config.batchOutput.entries()) {
    add(`batch_output[${index}]`, describeBatchOutputFault(batchOutput, inputNames, outputNames));
  }
  return issues;
}

function describeInputFault(config: ModelConfig, input: ModelInput): string | undefined {
  const shapeFault = describeDeclarationFault(config, input, "input");
  if (shapeFault !== undefined) return shapeFault;
  const isImage = input.format === Format.NHWC || input.format === Format.NCHW;
  if (isImage && input.dims.length !== 3) return "model input NHWC/NCHW require 3 dims";
  return describeTensorRtFault(config, input, "input");
}

function describeTensorFault(
  config: ModelConfig,
  tensor: ModelInput | ModelOutput,
  kind: "input" | "output",
): string | undefined {
  return describeDeclarationFault(config, tensor, kind) ?? describeTensorRtFault(config, tensor, kind);
}

function describeDeclarationFault(
  config: ModelConfig,
  tensor: ModelInput | ModelOutput,
  kind: "input" | "output",
): string | undefined {
  if (tensor.name === "") return `model ${kind} must specify 'name'`;
  const subject = `model ${kind} '${tensor.name}'`;
  if (tensor.dataType === DataType.TYPE_INVALID) return `${subject} must specify 'data_type'`;
  if (tensor.dims.length === 0) return `${subject} must specify 'dims'`;
  const fault = describeShapeFault({
    dims: tensor.dims,
    reshape: tensor.reshape?.shape,
    isBatching: config.maxBatchSize !== 0,
    tensorName: tensor.name,
  });
  if (fault === undefined) return undefined;
  return fault.aboutTensor ? `${subject} ${fault.text}` : fault.text;
}

function describeTensorRtFault(
  config: ModelConfig,
  tensor: ModelInput | ModelOutput,
  kind: "input" | "output",
): string | undefined {
  const isTensorRt = config.platform === TENSORRT.platform;
  if (!isTensorRt && tensor.isShapeTensor) return "shape tensors are only supported for TensorRT platform";
  if (!tensor.isNonLinearFormatIo) return undefined;
  if (!isTensorRt) return "Non-linear IO format is only supported for the TensorRT platform";
  return tensor.dims.length === 3 ? undefined : `Non-linear IO format ${kind} requires 3 dims`;
}

function describeBatchInputFault(
  batchInput: BatchInput,
  inputNames: ReadonlySet<string>,
): string | undefined {
  const kind = BatchInput_KindSchema.value[batchInput.kind]?.name;
  if (kind === undefined) return "unknown batch input kind ''";
  if (batchInput.sourceInput.length !== 1) {
    return `batch input kind '${kind}' expects 1 source input, got ${batchInput.sourceInput.length}`;
  }
  if (batchInput.dataType !== DataType.TYPE_INT32 && batchInput.dataType !== DataType.TYPE_FP32) {
    return "batch input data type must be TYPE_INT32 or TYPE_FP32";
  }
  return describeUnknownSource(batchInput.sourceInput, inputNames);
}

function describeBatchOutputFault(
  batchOutput: BatchOutput,
  inputNames: ReadonlySet<string>,
  outputNames: ReadonlySet<string>,
): string | undefined {
  const kind = BatchOutput_KindSchema.value[batchOutput.kind]?.name;
  if (kind === undefined) return "unknown batch output kind ''";
  if (batchOutput.sourceInput.length !== 1) {
    return `batch output kind '${kind}' expects 1 source input, got ${batchOutput.sourceInput.length}`;
  }
  const seen = new Set<string>();
  const describeTarget = (target: string): string | undefined => {
    if (!outputNames.has(target)) return `unknown target output name '${target}'`;
    if (seen.has(target)) return `target output name '${target}' can only be specified once`;
    seen.add(target);
    return undefined;
  };
  return (
    describeUnknownSource(batchOutput.sourceInput, inputNames) ??
    batchOutput.targetName.map(describeTarget).find((fault) => fault !== undefined)
  );
}

function describeUnknownSource(
  sources: readonly string[],
  inputNames: ReadonlySet<string>,
): string | undefined {
  const unknown = sources.find((source) => !inputNames.has(source));
  return unknown === undefined ? undefined : `unknown source input name '${unknown}'`;
}
