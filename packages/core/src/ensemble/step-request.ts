import type { ModelSignature } from "@naiad/model-config";
import type { Parameters, ParameterValue, SequenceFlags, Tensor } from "@naiad/protocol";
import { InferenceError, sequenceOrNone } from "@naiad/protocol";
import { clientShaped } from "../request/reshape.ts";
import { validateRequest } from "../request/inference-request.ts";
import type { ValidRequest } from "../scheduling/scheduler.ts";
import { adjustBatch } from "./adjust-batch.ts";
import type { IssuedStep, StepResponse } from "./ensemble-state.ts";

/** A composing model as a step sees it. */
export interface StepModel {
  readonly modelName: string;
  readonly signature: ModelSignature;
}

export interface ModelResponse {
  readonly outputs: readonly Tensor[];
  readonly parameters: Parameters;
}

export interface StepTarget {
  readonly model: StepModel;
  /** Outputs that whoever issues the step takes on a device too. */
  readonly keepOnDevice: readonly string[];
}

/**
 * The request of a step: what the ensemble's request says, with the tensors of the step, which stay where they are.
 * Throws INVALID_ARG as any request that does not fit its model.
 */
export function stepRequest(
  { step, inputs, sequence: override }: IssuedStep,
  request: ValidRequest,
  { model, keepOnDevice }: StepTarget,
): ValidRequest {
  const said = override ?? request.sequence;
  const sequence = said && sequenceOrNone(said);
  const tensors: Tensor[] = [];
  for (const [name, { tensor, batchSize }] of inputs) {
    if (tensor === undefined) continue;
    const declared = model.signature.inputs.find((input) => input.name === name);
    const reader = { dims: declared?.dims ?? [], batches: model.signature.maxBatchSize > 0 };
    tensors.push({ ...adjustBatch(tensor, batchSize, reader), name });
  }
  const valid = validateRequest(
    {
      modelName: model.modelName,
      modelVersion: "",
      id: request.id,
      parameters: request.parameters,
      ...(sequence === undefined ? {} : { sequence }),
      priority: request.priority,
      timeoutUs: request.timeoutUs,
      inputs: tensors,
      outputs: step.outputs.map(({ name }) => ({ name })),
    },
    { name: model.modelName, signature: model.signature },
  );
  return keepOnDevice.length === 0 ? valid : { ...valid, keepOnDevice };
}

/**
 * Throws INTERNAL where the model has not answered every row, and INVALID_ARG for a sequence that is none. A response of a
 * decoupled model has as many rows as it likes, as outside of an ensemble: they are the batch for the steps behind it.
 */
export function stepResponse(
  { outputs, parameters }: ModelResponse,
  { step, sequence }: IssuedStep,
  { batchSize, model }: { readonly batchSize: number; readonly model: StepModel },
): StepResponse {
  for (const { name, shape } of outputs) {
    if (step.decoupled || batchSize === 0 || shape[0] === batchSize) continue;
    throw new InferenceError(
      "INTERNAL",
      `step ${step.index} of model '${model.modelName}' answered a batch of ${batchSize} with an output '${name}' of ` +
        `shape [${shape.join(",")}]: expected batch dimension ${batchSize}, got ${shape[0] ?? "none"}`,
    );
  }
  return {
    outputs: new Map(outputs.map((output) => [output.name, clientShaped(output, model.signature)])),
    batchSize,
    sequence: overriddenSequence(parameters, sequence),
  };
}

/** What a model says of the sequence holds for the steps behind it. Flags that it leaves out are off. */
function overriddenSequence(
  { sequence_id: id, sequence_start: start, sequence_end: end }: Parameters,
  current: SequenceFlags | undefined,
): SequenceFlags | undefined {
  if (id === undefined && start === undefined && end === undefined) return current;
  if (id !== undefined && typeof id !== "bigint" && typeof id !== "string") {
    throw new InferenceError(
      "INVALID_ARG",
      "expected parameter 'sequence_id' to be TRITONSERVER_PARAMETER_INT or TRITONSERVER_PARAMETER_STRING",
    );
  }
  return {
    id: id ?? current?.id ?? 0n,
    start: sequenceFlag("sequence_start", start),
    end: sequenceFlag("sequence_end", end),
  };
}

function sequenceFlag(name: string, value: ParameterValue | undefined): boolean {
  if (value === undefined || typeof value === "boolean") return value ?? false;
  throw new InferenceError("INVALID_ARG", `expect parameter '${name}' to be TRITONSERVER_PARAMETER_BOOL`);
}
