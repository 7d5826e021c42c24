import { InferenceError, nearestName } from "@naiad/protocol";
import { dataTypeName, tryConfigDatatype } from "./config-datatype.ts";
import type { ConfigIssue } from "./config-issue.ts";
import { invalid } from "./config-issue.ts";
import type { ModelConfig, ModelInput, ModelOutput } from "./gen/model_config_pb.ts";
import { DataType, ModelSequenceBatching_Control_Kind as Kind } from "./gen/model_config_pb.ts";
import type { OnnxModel } from "./onnx-model.ts";
import type { NonTensorOutputs, OnnxTensor } from "./onnx-tensors.ts";
import { onnxDataType, onnxElementTypeName, onnxTensor, outputTensors } from "./onnx-tensors.ts";
import type { SequenceControl } from "./sequence-controls.ts";
import { findControl } from "./sequence-controls.ts";

/**
 * Holds a complete, valid configuration against the model's file as Triton's ONNX Runtime backend does when it makes an
 * instance, in its order and with its texts. Sizes of inputs compare loosely (any size of the model takes any of the
 * configuration), those of outputs exactly. `model` says what ONNX Runtime knows; a file that leaves the rank of an
 * output to ONNX Runtime's inference must be completed from the session before.
 */
export function checkOnnxModel(
  config: ModelConfig,
  model: Pick<OnnxModel, "inputs" | "overridableInitializers" | "outputs">,
  options: { readonly nonTensorOutputs: NonTensorOutputs } = { nonTensorOutputs: "refuse" },
): readonly ConfigIssue[] {
  try {
    const inputs = model.inputs.map(onnxTensor);
    const overridable = model.overridableInitializers.map(onnxTensor);
    const outputs = outputTensors(model.outputs, options.nonTensorOutputs);
    const controls = findControls(config);
    return [
      ...controls.flatMap((control) => checkControl(config, control, inputs)),
      ...checkInputCount(config, inputs, controls),
      ...checkInputs(config, [...inputs, ...overridable]),
      ...checkStates(config, { inputs, outputs }),
      ...checkBatchInputs(config, inputs),
      ...checkOutputs(config, outputs),
    ];
  } catch (thrown) {
    if (!(thrown instanceof InferenceError)) throw thrown;
    return [{ code: thrown.code, message: thrown.message, path: "" }];
  }
}

function findControls(config: ModelConfig): readonly SequenceControl[] {
  if (config.schedulingChoice.case !== "sequenceBatching") return [];
  const batching = config.schedulingChoice.value;
  const kinds = [
    Kind.CONTROL_SEQUENCE_START,
    Kind.CONTROL_SEQUENCE_END,
    Kind.CONTROL_SEQUENCE_READY,
    Kind.CONTROL_SEQUENCE_CORRID,
  ] as const;
  return kinds.flatMap((kind) => {
    const search = findControl(batching, kind, config.name);
    return search.kind === "found" ? [search.control] : [];
  });
}

function checkControl(
  config: ModelConfig,
  control: SequenceControl,
  inputs: readonly OnnxTensor[],
): readonly ConfigIssue[] {
  const path = "sequence_batching.control_input";
  const tensor = inputs.find(({ name }) => name === control.tensorName);
  if (tensor === undefined) {
    const message = `configuration specified sequence control '${control.tensorName}', but model does not provide that input`;
    return [{ code: "INTERNAL", message, path }];
  }
  const subject = `unable to load model '${config.name}', sequence control '${control.tensorName}'`;
  const dims = tensor.dims.slice(config.maxBatchSize > 0 ? 1 : 0);
  if (dims.length !== 1 || dims[0] !== 1) {
    return [invalid(path, `${subject} in model has dims ${formatShape(dims)} but dims [1] is expected`)];
  }
  if (control.dataType === onnxDataType(tensor.elementType)) return [];
  return [
    invalid(
      path,
      `${subject}, the model expects data-type ${onnxElementTypeName(tensor.elementType)} but the model configuration ` +
        `specifies data-type ${dataTypeName(control.dataType)}`,
    ),
  ];
}

function checkInputCount(
  config: ModelConfig,
  tensors: readonly OnnxTensor[],
  controls: readonly SequenceControl[],
): readonly ConfigIssue[] {
  const states =
    config.schedulingChoice.case === "sequenceBatching" ? config.schedulingChoice.value.state : [];
  const required = config.input.filter(({ optional }) => !optional).length;
  const expected = required + config.batchInput.length + controls.length + states.length;
  if (expected === tensors.length) return [];
  const declared = new Set([
    ...config.input.map(({ name }) => name),
    ...config.batchInput.flatMap(({ targetName }) => targetName),
    ...controls.map(({ tensorName }) => tensorName),
    ...states.map(({ inputName }) => inputName),
  ]);
  const undeclared = tensors.filter(({ name }) => !declared.has(name)).map(({ name }) => `'${name}'`);
  return [
    invalid(
      "input",
      `unable to load model '${config.name}', configuration expects ${expected} inputs, ` +
        `model provides ${tensors.length}`,
      undeclared.length === 0 ? undefined : `the configuration lacks ${undeclared.join(", ")}`,
    ),
  ];
}

function checkInputs(config: ModelConfig, tensors: readonly OnnxTensor[]): readonly ConfigIssue[] {
  return config.input.flatMap((input, index) => {
    const path = `input[${index}]`;
    if (input.optional && config.maxBatchSize !== 0) {
      return [
        invalid(
          path,
          `unable to load model '${config.name}', optional input '${input.name}' is not supported for models that ` +
            "support batching",
        ),
      ];
    }
    const tensor = tensors.find(({ name }) => name === input.name);
    if (tensor === undefined) return [unexpected("input", input.name, tensors, path)];
    const type = describeTypeFault(config, input, tensor, "input");
    if (type !== undefined) return [invalid(path, type, typeHint(tensor))];
    const fault = input.allowRaggedBatch
      ? describeRaggedFault(config, input, tensor)
      : describeShapeFault(config, input, tensor, { compare: "loosely" });
    return fault === undefined ? [] : [invalid(path, fault, shapeHint(config, tensor))];
  });
}

/** Triton finds out at the first request. */
function checkStates(
  config: ModelConfig,
  model: { readonly inputs: readonly OnnxTensor[]; readonly outputs: readonly OnnxTensor[] },
): readonly ConfigIssue[] {
  if (config.schedulingChoice.case !== "sequenceBatching") return [];
  return config.schedulingChoice.value.state.flatMap(({ inputName, outputName, dataType, dims }, index) =>
    [
      { kind: "input", name: inputName, tensors: model.inputs } as const,
      { kind: "output", name: outputName, tensors: model.outputs } as const,
    ].flatMap(({ kind, name, tensors }) => {
      const tensor = tensors.find((candidate) => candidate.name === name);
      const fault =
        tensor === undefined
          ? describeUnexpected(kind, name, tensors)
          : (describeTypeFault(config, { name, dataType }, tensor, kind) ??
            describeShapeFault(config, { dims }, oneRowAsAny(config, tensor), { compare: "loosely" }));
      return fault === undefined ? [] : [invalid(`sequence_batching.state[${index}]`, fault)];
    }),
  );
}

/** A state of exactly one row will do where a batch has no more. */
function oneRowAsAny({ maxBatchSize }: ModelConfig, tensor: OnnxTensor): OnnxTensor {
  const [rows, ...rest] = tensor.dims;
  return maxBatchSize === 1 && rows === 1 ? { ...tensor, dims: [-1, ...rest] } : tensor;
}

function checkBatchInputs(config: ModelConfig, tensors: readonly OnnxTensor[]): readonly ConfigIssue[] {
  return config.batchInput.flatMap(({ targetName, dataType }, index) =>
    targetName.flatMap((name) => {
      const tensor = tensors.find((candidate) => candidate.name === name);
      const fault =
        tensor === undefined
          ? describeUnexpected("input", name, tensors)
          : describeTypeFault(config, { name, dataType }, tensor, "input");
      return fault === undefined ? [] : [invalid(`batch_input[${index}]`, fault)];
    }),
  );
}

function checkOutputs(config: ModelConfig, tensors: readonly OnnxTensor[]): readonly ConfigIssue[] {
  // A batch output is split by other rules than its own shape.
  const batchOutputs = new Set(config.batchOutput.flatMap(({ targetName }) => targetName));
  return config.output.flatMap((output, index) => {
    const path = `output[${index}]`;
    const tensor = tensors.find(({ name }) => name === output.name);
    if (tensor === undefined) return [unexpected("output", output.name, tensors, path)];
    const typeFault = describeTypeFault(config, output, tensor, "output");
    if (typeFault !== undefined) return [invalid(path, typeFault, typeHint(tensor))];
    if (batchOutputs.has(output.name)) return [];
    const shapeFault = describeShapeFault(config, output, tensor, { compare: "exactly" });
    return shapeFault === undefined ? [] : [invalid(path, shapeFault, shapeHint(config, tensor))];
  });
}

function unexpected(
  kind: "input" | "output",
  name: string,
  tensors: readonly OnnxTensor[],
  path: string,
): ConfigIssue {
  const names = tensors.map((tensor) => tensor.name);
  const near = nearestName(name, names);
  const hint = near === undefined ? undefined : `did you mean "${near}"?`;
  return invalid(path, describeUnexpected(kind, name, tensors), hint);
}

function typeHint({ elementType }: OnnxTensor): string | undefined {
  const provided = tryConfigDatatype(onnxDataType(elementType));
  return provided === undefined ? undefined : `write data_type: ${dataTypeName(onnxDataType(elementType))}`;
}

/** What `describeShapeFault` would accept. */
function shapeHint({ maxBatchSize }: ModelConfig, { dims }: OnnxTensor): string {
  if (maxBatchSize > 0 && dims[0] !== -1) {
    return "write max_batch_size: 0 and the whole shape as dims, or export the model with a variable first dimension";
  }
  const own = dims.slice(maxBatchSize > 0 ? 1 : 0).map((dim) => (dim === 0 ? -1 : dim));
  return own.length > 0
    ? `write dims: [ ${own.join(", ")} ]`
    : `write dims: [ 1 ]${maxBatchSize > 0 ? " reshape { shape: [ ] }" : ""}`;
}

function describeUnexpected(kind: "input" | "output", name: string, tensors: readonly OnnxTensor[]): string {
  const allowed = tensors.map((tensor) => tensor.name).sort();
  return `unexpected inference ${kind} '${name}', allowed ${kind}s are: ${allowed.join(", ")}`;
}

function describeTypeFault(
  config: ModelConfig,
  declared: Pick<ModelInput, "name" | "dataType">,
  tensor: OnnxTensor,
  kind: "input" | "output",
): string | undefined {
  const provided = onnxDataType(tensor.elementType);
  if (provided === declared.dataType && provided !== DataType.TYPE_INVALID) return undefined;
  return (
    `unable to load model '${config.name}', configuration expects datatype ${dataTypeName(declared.dataType)} ` +
    `for ${kind} '${declared.name}', model provides TYPE_${tryConfigDatatype(provided) ?? "<invalid>"}`
  );
}

function describeRaggedFault(config: ModelConfig, input: ModelInput, tensor: OnnxTensor): string | undefined {
  const subject = `unable to load model '${config.name}', configuration expects model provides input with shape [-1]`;
  if (input.optional)
    return `${subject} for ragged input '${input.name}', which is not supported for optional input`;
  if (tensor.dims.length === 1 && tensor.dims[0] === -1) return undefined;
  // Two spaces here, one above: Triton's.
  return `${subject}  for ragged input '${input.name}', model provides ${formatShape(tensor.dims)}`;
}

function describeShapeFault(
  config: ModelConfig,
  declared: Pick<ModelInput | ModelOutput, "dims" | "reshape">,
  tensor: OnnxTensor,
  { compare }: { readonly compare: "loosely" | "exactly" },
): string | undefined {
  const dims = (declared.reshape?.shape ?? declared.dims).map(Number);
  if (tensor.dims.length === 0) return describeScalarFault(config.name, tensor.name, dims);
  const isBatching = config.maxBatchSize > 0;
  const subject = `model '${config.name}', tensor '${tensor.name}'`;
  if (isBatching && tensor.dims[0] !== -1) {
    return (
      `${subject}: for the model to support batching the shape should have at least 1 dimension and the first ` +
      `dimension must be -1; but shape expected by the model is ${formatShape(tensor.dims)}`
    );
  }
  const full = isBatching ? [-1, ...dims] : dims;
  const isEqual = tensor.dims.every((dim, index) => {
    const declaredDim = full[index];
    // No configuration can say 0, see auto-complete.
    return dim === declaredDim || (compare === "loosely" && dim === -1) || (dim === 0 && declaredDim === -1);
  });
  if (tensor.dims.length === full.length && isEqual) return undefined;
  const specified = `the model configuration specifies ${full.length} dimensions`;
  return (
    `${subject}: the model expects ${tensor.dims.length} dimensions (shape ${formatShape(tensor.dims)}) but ` +
    (isBatching
      ? `${specified} (an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, ` +
        `making complete shape ${formatShape(full)})`
      : `${specified} (shape ${formatShape(full)})`)
  );
}

function describeScalarFault(
  modelName: string,
  tensorName: string,
  dims: readonly number[],
): string | undefined {
  if (dims.every((dim) => dim === 1)) return undefined;
  return (
    `unable to load model '${modelName}', scalar tensor '${tensorName}', should only provide 1 in the model ` +
    `configuration when the model doesn't support batching. Model configuration provided: ${formatShape(dims)}.`
  );
}

function formatShape(dims: readonly number[]): string {
  return `[${dims.join(",")}]`;
}
