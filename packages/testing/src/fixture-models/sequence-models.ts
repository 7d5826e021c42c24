import type { FixtureModel } from "./fixture-models.ts";
import type { Node } from "./onnx-graph.ts";
import { attribute, ElementType, node, onnxModel, value } from "./onnx-graph.ts";

/** Models whose answers depend on what came before in the same sequence. */
export function sequenceModels(): FixtureModel[] {
  return [
    sequenceSum("sequence_sum", "direct { }"),
    sequenceSum("sequence_sum_oldest", "oldest { max_candidate_sequences: 16 }"),
    sequenceConcat(),
  ];
}

/** SUM is 10 and all INPUTs of the sequence so far; ID is its correlation id. */
function sequenceSum(name: string, strategy: string): FixtureModel {
  return {
    name,
    files: {
      "config.pbtxt": `name: "${name}"
backend: "onnxruntime"
max_batch_size: 4
input [ { name: "INPUT" data_type: TYPE_INT32 dims: [ 1 ] } ]
output [
  { name: "SUM" data_type: TYPE_INT32 dims: [ 1 ] },
  { name: "ID" data_type: TYPE_UINT64 dims: [ 1 ] }
]
sequence_batching {
  ${strategy}
  max_sequence_idle_microseconds: 5000000
  control_input [
    { name: "READY" control [ { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } ] },
    { name: "CORRID" control [ { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } ] }
  ]
  state [
    {
      input_name: "STATE"
      output_name: "NEXT_STATE"
      data_type: TYPE_INT32
      dims: [ 1 ]
      initial_state: { name: "ten" data_type: TYPE_INT32 dims: [ 1 ] data_file: "ten" }
    }
  ]
}
instance_group [ { kind: KIND_CPU count: 1 } ]
`,
      "initial_state/ten": new Uint8Array(Int32Array.of(10).buffer),
      "1/model.onnx": sequenceSumModel(),
    },
  };
}

function sequenceSumModel(): Uint8Array {
  const { INT32, UINT64 } = ElementType;
  return onnxModel({
    name: "sequence_sum",
    input: [
      value("INPUT", INT32, ["batch", 1]),
      value("READY", INT32, ["batch", 1]),
      value("CORRID", UINT64, ["batch", 1]),
      value("STATE", INT32, ["batch", 1]),
    ],
    output: [
      value("SUM", INT32, ["batch", 1]),
      value("ID", UINT64, ["batch", 1]),
      value("NEXT_STATE", INT32, ["batch", 1]),
    ],
    node: [
      node("Mul", ["INPUT", "READY"], ["counted"]),
      node("Add", ["counted", "STATE"], ["SUM"]),
      node("Identity", ["SUM"], ["NEXT_STATE"]),
      node("Identity", ["CORRID"], ["ID"]),
    ],
  });
}

/** ALL is every INPUT of the sequence so far, behind one zero: a state that grows. START and END are outputs too. */
function sequenceConcat(): FixtureModel {
  return {
    name: "sequence_concat",
    files: {
      "config.pbtxt": `name: "sequence_concat"
backend: "onnxruntime"
max_batch_size: 4
input [ { name: "INPUT" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [
  { name: "ALL" data_type: TYPE_FP32 dims: [ -1 ] },
  { name: "STARTS" data_type: TYPE_FP32 dims: [ 1 ] },
  { name: "ENDS" data_type: TYPE_BOOL dims: [ 1 ] }
]
sequence_batching {
  control_input [
    { name: "START" control [ { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } ] },
    { name: "END" control [ { kind: CONTROL_SEQUENCE_END bool_false_true: [ false, true ] } ] }
  ]
  state [ { input_name: "BEFORE" output_name: "ALL" data_type: TYPE_FP32 dims: [ -1 ] } ]
}
instance_group [ { kind: KIND_CPU count: 1 } ]
`,
      "1/model.onnx": sequenceConcatModel(),
    },
  };
}

function sequenceConcatModel(): Uint8Array {
  const { FLOAT, BOOL } = ElementType;
  const copy = (from: string, to: string): Node => node("Identity", [from], [to]);
  return onnxModel({
    name: "sequence_concat",
    input: [
      value("INPUT", FLOAT, ["batch", 1]),
      value("START", FLOAT, ["batch", 1]),
      value("END", BOOL, ["batch", 1]),
      value("BEFORE", FLOAT, ["batch", "before"]),
    ],
    output: [
      value("ALL", FLOAT, ["batch", "all"]),
      value("STARTS", FLOAT, ["batch", 1]),
      value("ENDS", BOOL, ["batch", 1]),
    ],
    node: [
      node("Concat", ["BEFORE", "INPUT"], ["ALL"], [attribute.int("axis", 1)]),
      copy("START", "STARTS"),
      copy("END", "ENDS"),
    ],
  });
}
