import type { SequenceFlags } from "@naiad/protocol";
import type { InstanceRequest } from "../../ports.ts";
import type { ValidRequest } from "../scheduler.ts";
import type { ControlTensors } from "./control-tensors.ts";
import { NOT_READY } from "./control-tensors.ts";
import type { SequenceState, StateTensors } from "./sequence-states.ts";
import { executedOutputs } from "./sequence-states.ts";

export interface ExecutionContext {
  readonly flags: SequenceFlags;
  /** Where the request is traced. */
  readonly traceId?: number;
  readonly controls: ControlTensors;
  readonly states: readonly SequenceState[];
  /** Of this sequence, before this step. */
  readonly current: StateTensors;
}

/** A request as the model sees it: with controls and states among its inputs, and the next states among its outputs. */
export function executedRequest(
  { id, inputs, outputs, batchSize, parameters, priority }: ValidRequest,
  { flags, traceId, controls, states, current }: ExecutionContext,
): InstanceRequest {
  return {
    id,
    inputs: [...inputs, ...controls.of({ ...flags, ready: true }), ...current],
    outputs: executedOutputs(states, outputs),
    batchSize,
    parameters,
    priority,
    sequence: flags,
    ...(traceId !== undefined && { traceId }),
  };
}

/**
 * A row that only fills its place: the tensors of another row of the batch, with controls that say so. Nothing of it is
 * wanted.
 */
export function fillingRequest(like: InstanceRequest, controls: ControlTensors): InstanceRequest {
  const own = new Map(controls.of({ ...NOT_READY, id: 0n }).map((tensor) => [tensor.name, tensor]));
  return {
    id: "",
    inputs: like.inputs.map((input) => own.get(input.name) ?? input),
    outputs: [],
    batchSize: like.batchSize,
    parameters: {},
  };
}
