import type { ModelConfig, ModelEnsembling_Step as Step } from "@naiad/model-config";
import { InferenceError, invariant } from "@naiad/protocol";
import { validateComposing } from "./validate-composing.ts";

/** An ensemble whose tensors are known to fit: what happens to a request is decided from this alone. */
export interface EnsemblePlan {
  readonly ensembleName: string;
  readonly steps: readonly EnsembleStep[];
  readonly optionalInputs: readonly string[];
  /** Any of its models is: a request has any number of responses. */
  readonly decoupled: boolean;
  /** Requests that each step may have in flight, over all requests of the ensemble; 0: any number. */
  readonly maxInflightRequests: number;
  /** For outputs that have no labels of their own: whose labels they have. Chains through ensembles end at a model. */
  readonly labelSources: ReadonlyMap<string, LabelSource>;
}

export interface EnsembleStep {
  readonly index: number;
  readonly modelName: string;
  /** `undefined`: the latest at the time of the request. */
  readonly modelVersion: number | undefined;
  readonly inputs: readonly TensorMapping[];
  readonly outputs: readonly TensorMapping[];
  /** Each of its responses begins an iteration of everything behind it. */
  readonly decoupled: boolean;
}

/** An input or output of a model, and the tensor of the ensemble that stands for it. */
export interface TensorMapping {
  readonly name: string;
  readonly tensor: string;
}

export interface LabelSource {
  readonly modelName: string;
  readonly modelVersion: number | undefined;
  readonly output: string;
}

/** Versions that steps name, by model; empty where any version will do. */
export type EnsembleRequirements = ReadonlyMap<string, readonly number[]>;

/** What an ensemble needs of other models, in the order of its steps; `undefined` for a model that is none. */
export function ensembleRequirements({ schedulingChoice }: ModelConfig): EnsembleRequirements | undefined {
  if (schedulingChoice.case !== "ensembleScheduling") return undefined;
  const requirements = new Map<string, number[]>();
  for (const step of schedulingChoice.value.step) {
    const versions = requirements.get(step.modelName) ?? [];
    requirements.set(step.modelName, versions);
    const version = versionOf(step);
    if (version !== undefined && !versions.includes(version)) versions.push(version);
  }
  return requirements;
}

/**
 * Holds the (statically valid) configuration of an ensemble against those of its models. `configOf` gives what is served
 * as the latest version of a model, completed. Throws INVALID_ARG with Triton's text.
 */
export function planEnsemble(
  config: ModelConfig,
  configOf: (modelName: string) => ModelConfig,
): EnsemblePlan {
  const { schedulingChoice } = config;
  invariant(schedulingChoice.case === "ensembleScheduling", "only an ensemble is planned as one");
  const composing = schedulingChoice.value.step.map((step) => ({ step, config: configOf(step.modelName) }));
  const [issue] = validateComposing(config, composing);
  if (issue !== undefined) throw new InferenceError(issue.code, issue.message);
  const steps = composing.map(({ step, config: { modelTransactionPolicy } }, index): EnsembleStep => ({
    index,
    modelName: step.modelName,
    modelVersion: versionOf(step),
    inputs: mappings(step.inputMap),
    outputs: mappings(step.outputMap),
    decoupled: modelTransactionPolicy?.decoupled ?? false,
  }));
  return {
    ensembleName: config.name,
    steps,
    optionalInputs: config.input.filter(({ optional }) => optional).map(({ name }) => name),
    decoupled: steps.some(({ decoupled }) => decoupled),
    maxInflightRequests: schedulingChoice.value.maxInflightRequests,
    labelSources: new Map(
      config.output.flatMap(({ name, labelFilename }) => {
        const source = labelFilename === "" ? labelSource(name, steps) : undefined;
        return source === undefined ? [] : [[name, source] as const];
      }),
    ),
  };
}

/** The steps that a request for these outputs needs; the others are not issued for it. */
export function neededSteps(
  { steps }: EnsemblePlan,
  requestedOutputs: readonly string[],
): ReadonlySet<EnsembleStep> {
  const needed = new Set<EnsembleStep>();
  const wanted = [...requestedOutputs];
  for (const tensor of wanted) {
    const producer = steps.find(({ outputs }) => outputs.some((output) => output.tensor === tensor));
    if (producer === undefined || needed.has(producer)) continue;
    needed.add(producer);
    wanted.push(...producer.inputs.map((input) => input.tensor));
  }
  return needed;
}

function versionOf({ modelVersion }: Step): number | undefined {
  return modelVersion < 0n ? undefined : Number(modelVersion);
}

function mappings(map: Readonly<Record<string, string>>): readonly TensorMapping[] {
  return Object.entries(map).map(([name, tensor]) => ({ name, tensor }));
}

function labelSource(tensor: string, steps: readonly EnsembleStep[]): LabelSource | undefined {
  for (const { modelName, modelVersion, outputs } of steps) {
    const output = outputs.find((mapping) => mapping.tensor === tensor);
    if (output !== undefined) return { modelName, modelVersion, output: output.name };
  }
  return undefined;
}
