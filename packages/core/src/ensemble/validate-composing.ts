import type {
  ConfigIssue,
  ModelConfig,
  ModelEnsembling_Step as Step,
  ModelInput,
  ModelOutput,
} from "@naiad/model-config";
import { dataTypeName } from "@naiad/model-config";

/** A step with the configuration of its model, as that is served. */
export interface ComposingStep {
  readonly step: Step;
  readonly config: ModelConfig;
}

/** What one end of a tensor says of it. */
interface TensorClaim {
  readonly modelName: string;
  readonly dataType: ModelInput["dataType"];
  readonly dims: readonly bigint[];
  /** With the batch dimension, where the model batches. */
  readonly fullDims: readonly bigint[];
}

/** A tensor of the ensemble: who says what of it first, and which step writes it. */
type Claims = Map<string, TensorClaim>;

/**
 * What is wrong between an ensemble, which is valid by itself, and its models, in the order in which Triton looks: its
 * error is the first issue.
 */
export function validateComposing(
  ensemble: ModelConfig,
  steps: readonly ComposingStep[],
): readonly ConfigIssue[] {
  const claims: Claims = new Map();
  for (const tensor of [...ensemble.input, ...ensemble.output]) {
    const dims = tensor.reshape?.shape ?? tensor.dims;
    if (!claims.has(tensor.name)) claims.set(tensor.name, claimOf(tensor, ensemble, dims));
  }
  const issues: ConfigIssue[] = [];
  for (const [index, composing] of steps.entries()) {
    const path = `ensemble_scheduling.step[${index}]`;
    for (const message of stepFaults(ensemble, composing, claims)) {
      issues.push({ code: "INVALID_ARG", message, path });
    }
  }
  if (issues.length > 0) return issues;
  const mixed = mixedIterations(ensemble, steps);
  return mixed === undefined ? [] : [{ code: "INVALID_ARG", message: mixed, path: "ensemble_scheduling" }];
}

function claimOf(
  tensor: ModelInput | ModelOutput,
  { name, maxBatchSize }: ModelConfig,
  dims: readonly bigint[] = tensor.dims,
): TensorClaim {
  return {
    modelName: name,
    dataType: tensor.dataType,
    dims,
    fullDims: maxBatchSize > 0 ? [-1n, ...dims] : dims,
  };
}

function stepFaults(
  { name: ensembleName, maxBatchSize }: ModelConfig,
  { step, config }: ComposingStep,
  claims: Claims,
): readonly string[] {
  const { modelName, outputMap } = step;
  /** A map, because an input may be named as something that every object has. */
  const inputMap = new Map(Object.entries(step.inputMap));
  const faults: string[] = [];
  const inEnsemble = `in ensemble ${ensembleName}, `;
  if (config.maxBatchSize !== 0 && config.maxBatchSize < maxBatchSize) {
    faults.push(
      `ensemble ${ensembleName} allows maximum batch size ${maxBatchSize}, but it contains model ${modelName} ` +
        `which only allows maximum batch size to be ${config.maxBatchSize}`,
    );
  }
  const compare = (tensor: string, end: ModelInput | ModelOutput): void => {
    const claim = claimOf(end, config);
    const first = claims.get(tensor);
    if (first === undefined) claims.set(tensor, claim);
    const conflict = first === undefined ? undefined : conflictOf(first, claim);
    if (conflict !== undefined) faults.push(`${inEnsemble}ensemble tensor ${tensor}: ${conflict}`);
  };

  for (const [input, tensor] of inputMap) {
    if (config.input.some(({ name }) => name === input)) continue;
    faults.push(
      `${inEnsemble}ensemble tensor ${tensor} is mapping to non-existing input ${input} in model ${modelName}`,
    );
  }
  for (const input of config.input) {
    const tensor = inputMap.get(input.name);
    if (tensor !== undefined) compare(tensor, input);
    else if (!input.optional) {
      faults.push(
        `${inEnsemble}input ${input.name} in model ${modelName} is not mapped to any ensemble tensors`,
      );
    }
  }
  for (const [name, tensor] of Object.entries(outputMap)) {
    const output = config.output.find((candidate) => candidate.name === name);
    if (output !== undefined) compare(tensor, output);
    else {
      faults.push(
        `${inEnsemble}ensemble tensor ${tensor} is mapped from non-existing output ${name} in model ${modelName}`,
      );
    }
  }
  return faults;
}

/**
 * Shapes agree with or without their batch dimensions, so that a tensor may lie between a model that batches and one
 * that does not; -1 agrees with any size.
 */
function conflictOf(one: TensorClaim, other: TensorClaim): string | undefined {
  const between = (a: string, b: string): string =>
    `${a} is inferred from model ${one.modelName} while ${b} is inferred from model ${other.modelName}`;
  if (one.dataType !== other.dataType) {
    return `inconsistent data type: ${between(dataTypeName(one.dataType), dataTypeName(other.dataType))}`;
  }
  if (agree(one.dims, other.dims) || agree(one.fullDims, other.fullDims)) return undefined;
  return `inconsistent shape: ${between(shapeText(one.fullDims), shapeText(other.fullDims))}`;
}

function agree(one: readonly bigint[], other: readonly bigint[]): boolean {
  return (
    one.length === other.length &&
    one.every((dim, axis) => dim === -1n || other[axis] === -1n || dim === other[axis])
  );
}

function shapeText(dims: readonly bigint[]): string {
  return `[${dims.join(",")}]`;
}

/**
 * The responses of a decoupled model are counted. What is read together, or answered together, must be counted by the
 * same model, or it could not be told what belongs together.
 */
function mixedIterations(
  { name, input, output }: ModelConfig,
  steps: readonly ComposingStep[],
): string | undefined {
  const mixed = (modelName: string): string =>
    `in ensemble ${name}, step of model '${modelName}' receives inputs originated from different decoupled models`;
  /** By tensor, the step whose responses count it; -1: it is there once. */
  const counters = new Map(input.map((tensor) => [tensor.name, -1]));
  const waiting = new Set(steps.keys());
  for (let isMoving = true; isMoving;) {
    isMoving = false;
    for (const index of waiting) {
      const { step, config } = steps[index] ?? {};
      if (step === undefined || config === undefined) continue;
      const read = Object.values(step.inputMap).map((tensor) => counters.get(tensor));
      const [counter] = read;
      if (counter === undefined || read.includes(undefined)) continue;
      if (read.some((other) => other !== counter)) return mixed(step.modelName);
      const isDecoupled = config.modelTransactionPolicy?.decoupled === true;
      for (const tensor of Object.values(step.outputMap)) counters.set(tensor, isDecoupled ? index : counter);
      waiting.delete(index);
      isMoving = true;
    }
  }
  return new Set(output.map((tensor) => counters.get(tensor.name))).size > 1 ? mixed(name) : undefined;
}
