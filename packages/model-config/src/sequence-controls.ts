import type { ConfigIssue } from "./config-issue.ts";
import { invalid } from "./config-issue.ts";
import type { ModelSequenceBatching, ModelSequenceBatching_Control } from "./gen/model_config_pb.ts";
import {
  DataType,
  ModelSequenceBatching_Control_Kind as Kind,
  ModelSequenceBatching_Control_KindSchema,
} from "./gen/model_config_pb.ts";

/** A control tensor of the sequence batcher, found in a valid configuration. */
export interface SequenceControl {
  readonly tensorName: string;
  readonly dataType: DataType;
  /** Values that mean "no" and "yes"; absent for the correlation id, whose value is the id. */
  readonly falseTrue?: readonly [number | boolean, number | boolean];
}

export type ControlKind =
  | typeof Kind.CONTROL_SEQUENCE_START
  | typeof Kind.CONTROL_SEQUENCE_READY
  | typeof Kind.CONTROL_SEQUENCE_END
  | typeof Kind.CONTROL_SEQUENCE_CORRID;

/** `CONTROL_SEQUENCE_START` and so on, as it stands in a configuration. */
function controlKindName(kind: ControlKind): string {
  return ModelSequenceBatching_Control_KindSchema.value[kind].name;
}

export type ControlSearch =
  | { readonly kind: "absent" }
  | { readonly kind: "found"; readonly control: SequenceControl }
  | { readonly kind: "invalid"; readonly issue: ConfigIssue };

/** Looks for the control of one kind; `invalid` also when control inputs before it are. */
export function findControl(
  batching: ModelSequenceBatching,
  kind: ControlKind,
  modelName: string,
): ControlSearch {
  const kindName = controlKindName(kind);
  const seenTensors = new Set<string>();
  let found: SequenceControl | undefined;
  for (const { name, control } of batching.controlInput) {
    if (name === "") return fault(`sequence batching control tensor must have a name for ${modelName}`);
    if (seenTensors.has(name)) {
      return fault(
        `sequence batching control tensor '${name}' is specified for multiple control kinds for ${modelName}`,
      );
    }
    seenTensors.add(name);
    for (const candidate of control.filter((one) => one.kind === kind)) {
      if (found !== undefined)
        return fault(`sequence batching specifies multiple ${kindName} tensors for ${modelName}`);
      const read =
        kind === Kind.CONTROL_SEQUENCE_CORRID ? readTyped(name, candidate) : readBoolean(name, candidate);
      if (typeof read === "string")
        return fault(`sequence batching ${read} for ${kindName} for ${modelName}`);
      found = read;
    }
  }
  return found === undefined ? { kind: "absent" } : { kind: "found", control: found };
}

function fault(message: string): ControlSearch {
  return { kind: "invalid", issue: invalid("sequence_batching.control_input", message) };
}

/** A control of "no" and "yes", or what is wrong with it. */
function readBoolean(tensorName: string, control: ModelSequenceBatching_Control): SequenceControl | string {
  const lists = [
    { field: "int32_false_true", values: control.int32FalseTrue, dataType: DataType.TYPE_INT32 },
    { field: "fp32_false_true", values: control.fp32FalseTrue, dataType: DataType.TYPE_FP32 },
    { field: "bool_false_true", values: control.boolFalseTrue, dataType: DataType.TYPE_BOOL },
  ].filter(({ values }) => values.length > 0);
  const [list] = lists;
  if (list === undefined)
    return "must specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true'";
  if (lists.length > 1) {
    return "specifies more than one from 'int32_false_true', 'fp32_false_true' and 'bool_false_true'";
  }
  const [no, yes, ...rest] = list.values;
  if (no === undefined || yes === undefined || rest.length > 0) {
    return `control '${list.field}' must have exactly 2 entries`;
  }
  return { tensorName, dataType: list.dataType, falseTrue: [no, yes] };
}

function readTyped(tensorName: string, control: ModelSequenceBatching_Control): SequenceControl | string {
  const { int32FalseTrue, fp32FalseTrue, boolFalseTrue } = control;
  if (int32FalseTrue.length + fp32FalseTrue.length + boolFalseTrue.length > 0) {
    return "must not specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true'";
  }
  return { tensorName, dataType: control.dataType };
}
