import type { ConfigIssue } from "./config-issue.ts";
import { invalid } from "./config-issue.ts";
import type {
  ModelConfig,
  ModelSequenceBatching,
  ModelSequenceBatching_InitialState,
  ModelSequenceBatching_State,
} from "./gen/model_config_pb.ts";
import {
  DataType,
  ModelInstanceGroup_Kind,
  ModelSequenceBatching_Control_Kind as Kind,
} from "./gen/model_config_pb.ts";
import type { ControlKind, SequenceControl } from "./sequence-controls.ts";
import { findControl } from "./sequence-controls.ts";

/** Control tensors and strategy of the sequence batcher. */
export function validateSequenceBatching(config: ModelConfig): readonly ConfigIssue[] {
  if (config.schedulingChoice.case !== "sequenceBatching") return [];
  const batching = config.schedulingChoice.value;
  const issues: ConfigIssue[] = [];
  if (config.responseCache?.enable === true) {
    issues.push(
      invalid(
        "response_cache",
        `Response Cache does not currently support model ${config.name} with sequence batching scheduler. ` +
          "Please disable the response cache.",
      ),
    );
  }
  issues.push(...validateControls(config.name, batching), ...validateStrategy(config, batching));
  return issues;
}

const CORRELATION_ID_TYPES: ReadonlySet<DataType> = new Set<DataType>([
  DataType.TYPE_UINT64,
  DataType.TYPE_INT64,
  DataType.TYPE_UINT32,
  DataType.TYPE_INT32,
  DataType.TYPE_STRING,
]);

function validateControls(modelName: string, batching: ModelSequenceBatching): readonly ConfigIssue[] {
  const issues = new Map<string, ConfigIssue>();
  const kinds = [
    Kind.CONTROL_SEQUENCE_START,
    Kind.CONTROL_SEQUENCE_END,
    Kind.CONTROL_SEQUENCE_READY,
    Kind.CONTROL_SEQUENCE_CORRID,
  ] as const;
  for (const kind of kinds) {
    const search = findControl(batching, kind, modelName);
    const issue = search.kind === "found" ? validateControl(modelName, kind, search.control) : undefined;
    // Each kind looks at all control inputs, so the same issue may come up again.
    if (search.kind === "invalid") issues.set(search.issue.message, search.issue);
    else if (issue !== undefined) issues.set(issue.message, issue);
  }
  return [...issues.values()];
}

function validateControl(
  modelName: string,
  kind: ControlKind,
  control: SequenceControl,
): ConfigIssue | undefined {
  if (kind !== Kind.CONTROL_SEQUENCE_CORRID || CORRELATION_ID_TYPES.has(control.dataType)) return undefined;
  return invalid(
    "sequence_batching.control_input",
    `unexpected data type for control CONTROL_SEQUENCE_CORRID for ${modelName}. ` +
      "Allowed data types are TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING",
  );
}

function validateStrategy(
  config: ModelConfig,
  { strategyChoice }: ModelSequenceBatching,
): readonly ConfigIssue[] {
  switch (strategyChoice.case) {
    case "oldest": {
      const path = "sequence_batching.oldest.preferred_batch_size";
      const text = "sequence batching preferred batch size must be";
      return strategyChoice.value.preferredBatchSize.flatMap((size) => {
        if (size <= 0) return [invalid(path, `${text} positive for ${config.name}`)];
        return size <= config.maxBatchSize
          ? []
          : [invalid(path, `${text} <= max batch size for ${config.name}`)];
      });
    }
    case "direct": {
      const utilization = strategyChoice.value.minimumSlotUtilization;
      if (!(utilization < 0 || utilization > 1)) return [];
      return [
        invalid(
          "sequence_batching.direct.minimum_slot_utilization",
          `sequence batching minimum slot utilization must be in range (0.0, 1.0] for ${config.name}`,
        ),
      ];
    }
    case undefined:
      return [];
  }
}

/** Implicit state; Triton looks at it when it makes the scheduler and at the first request, not when it polls. */
export function validateStates(config: ModelConfig): readonly ConfigIssue[] {
  if (config.schedulingChoice.case !== "sequenceBatching") return [];
  const issues: ConfigIssue[] = [];
  const seenNames = new Set<string>();
  for (const [index, state] of config.schedulingChoice.value.state.entries()) {
    const message = describeStateFault(state, seenNames);
    if (message !== undefined) {
      issues.push(invalid(`sequence_batching.state[${index}].initial_state`, message));
    }
    const memoryFault = describeMemoryFault(state, config);
    if (memoryFault !== undefined) {
      issues.push(invalid(`sequence_batching.state[${index}].use_growable_memory`, memoryFault));
    }
  }
  return issues;
}

function describeMemoryFault(
  { inputName, useGrowableMemory, useSameBufferForInputOutput }: ModelSequenceBatching_State,
  { instanceGroup }: ModelConfig,
): string | undefined {
  if (!useGrowableMemory) return undefined;
  if (!useSameBufferForInputOutput) {
    return (
      "In order to 'use_growable_memory', you must also enable 'use_single_buffer' for state input name " +
      `'${inputName}'.`
    );
  }
  if (instanceGroup.every(({ kind }) => kind === ModelInstanceGroup_Kind.GPU)) return undefined;
  return (
    "'use_growable_memory' can only work with KIND_GPU model instances right now. Please either change the instance " +
    `type to KIND_GPU or set 'use_growable_memory' to false for state input '${inputName}'.`
  );
}

function describeStateFault(state: ModelSequenceBatching_State, seenNames: Set<string>): string | undefined {
  const [initial, ...rest] = state.initialState;
  if (initial === undefined) return undefined;
  const name = state.inputName;
  if (rest.length > 0) {
    const count = String(state.initialState.length);
    return (
      `initial_state field for state input '${name}' must contain exactly one or zero element. ` +
      `Found '${count}' elements.`
    );
  }
  if (initial.dataType !== state.dataType) {
    return `The data type used for 'initial_state' field of state '${name}' does not match the state data type.`;
  }
  if (initial.name === "")
    return `Field 'name' must be set when using initial_state for state input '${name}'.`;
  if (seenNames.has(name)) return `State input name '${name}' specified more than once.`;
  seenNames.add(name);
  return describeInitialShapeFault(state, initial) ?? describeInitialDataFault(name, initial);
}

function describeInitialShapeFault(
  state: ModelSequenceBatching_State,
  initial: ModelSequenceBatching_InitialState,
): string | undefined {
  const name = state.inputName;
  if (initial.dims.length !== state.dims.length) {
    return (
      `Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions for state input ` +
      `'${name}'. ${initial.dims.length} != ${state.dims.length}`
    );
  }
  for (const [index, dim] of initial.dims.entries()) {
    const stateDim = state.dims[index];
    if (dim === -1n)
      return `'initial_state' field for state input name '${name}' contains variable dimensions.`;
    if (stateDim !== -1n && dim !== stateDim) {
      return (
        `'initial_state' dim for input name '${name}' doesn't match 'state' dim description. ` +
        `${dim} != ${stateDim}`
      );
    }
  }
  return undefined;
}

function describeInitialDataFault(
  name: string,
  initial: ModelSequenceBatching_InitialState,
): string | undefined {
  // The missing space is Triton's.
  if (initial.stateData.case === undefined)
    return `initial_state setting expects state'${name}' to have state_data set`;
  return undefined;
}
