import type { ModelConfig } from "@naiad/model-config";
import {
  configDatatype,
  findControl,
  modelSignature,
  ModelSequenceBatching_Control_Kind as Kind,
} from "@naiad/model-config";
import type { Datatype } from "@naiad/protocol";

/** An input as an execution gives it to the model. */
export interface ExecutedInput {
  readonly name: string;
  readonly datatype: Datatype;
  /** As the model sees it, without a batch dimension; -1 is any size. */
  readonly shape: readonly number[];
}

const CONTROL_KINDS = [
  Kind.CONTROL_SEQUENCE_START,
  Kind.CONTROL_SEQUENCE_READY,
  Kind.CONTROL_SEQUENCE_END,
  Kind.CONTROL_SEQUENCE_CORRID,
] as const;

/**
 * Everything that an execution must bring along: the inputs of requests that are not optional, and what a sequence
 * batcher adds to them, which are controls of one element and states.
 */
export function executedInputs(config: ModelConfig): readonly ExecutedInput[] {
  const ofRequests = modelSignature(config).inputs.flatMap(({ name, datatype, dims, reshape, optional }) =>
    optional ? [] : [{ name, datatype, shape: reshape ?? dims }],
  );
  if (config.schedulingChoice.case !== "sequenceBatching") return ofRequests;
  const batching = config.schedulingChoice.value;
  const controls = CONTROL_KINDS.flatMap((kind) => {
    const search = findControl(batching, kind, config.name);
    if (search.kind !== "found") return [];
    const { tensorName, dataType } = search.control;
    return [{ name: tensorName, datatype: configDatatype(dataType), shape: [1] }];
  });
  const states = batching.state.map(({ inputName, dataType, dims }) => ({
    name: inputName,
    datatype: configDatatype(dataType),
    shape: dims.map(Number),
  }));
  return [...ofRequests, ...controls, ...states];
}
