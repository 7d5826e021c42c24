import { describe, expect, it } from "vitest";
import { assertNoIssues } from "./config-issue.ts";
import { ModelInstanceGroup_Kind as Kind } from "./gen/model_config_pb.ts";
import { normalizeConfig } from "./normalize.ts";
import { normalizeInstanceGroups } from "./instance-groups.ts";
import { parseConfigText } from "./text.ts";
import { validateConfig } from "./validate.ts";

const GPUS = { gpus: { kind: "supported", ids: [] }, preferredGroups: [], minComputeCapability: 6 } as const;

/** Issues at load of a configuration that is valid but for `text`. */
function messages(text: string, base = 'name: "m" backend: "custom" max_batch_size: 8'): readonly string[] {
  const config = normalizeInstanceGroups(
    normalizeConfig(parseConfigText(`${base} ${text}`, { fileName: "c" })),
    GPUS,
  );
  return validateConfig(config, { stage: "load", instanceGroups: GPUS }).map(({ message }) => message);
}

describe("general fields", () => {
  const whole = (text: string): readonly string[] => messages(text, "");
  it.each([
    ['backend: "x"', "model configuration must specify 'name'"],
    ['name: "m" platform: "p"', "unexpected platform type 'p' for m"],
    [
      'name: "m" backend: "x" platform: "ensemble" ensemble_scheduling {}',
      "Ensemble model 'm' must have platform type 'ensemble' and empty backend type",
    ],
    [
      'name: "m" backend: "onnxruntime" platform: "p"',
      "unexpected 'platform' and 'backend' pair, got:p, onnxruntime",
    ],
    [
      'name: "m" backend: "pytorch" platform: "libtorch"',
      "unexpected 'platform' and 'backend' pair, got:libtorch, pytorch",
    ],
    ['name: "m" backend: "x" max_batch_size: -1', "'max_batch_size' must be non-negative value for m"],
  ])("%s", (text, message) => {
    expect(whole(text)[0]).toBe(message);
  });

  it("accepts any platform for a custom backend", () => {
    expect(whole('name: "m" backend: "x" platform: "p"')).toEqual([]);
  });

  it("holds the name against the directory at poll", () => {
    const config = normalizeConfig(parseConfigText('name: "m" backend: "x"', { fileName: "c" }));
    const issues = validateConfig(config, { stage: "poll", directoryName: "d", autoComplete: true });
    expect(issues.map(({ message }) => message)).toEqual([
      "unexpected directory name 'd' for model 'm', directory name must equal model name",
    ]);
  });

  it("looks at inputs at poll only without auto-complete", () => {
    const config = normalizeConfig(parseConfigText('name: "m" backend: "x" input {}', { fileName: "c" }));
    expect(validateConfig(config, { stage: "poll", directoryName: "m", autoComplete: true })).toEqual([]);
    expect(validateConfig(config, { stage: "poll", directoryName: "m", autoComplete: false })).toHaveLength(
      1,
    );
  });

  it("wants a version policy", () => {
    const config = parseConfigText('name: "m" backend: "x"', { fileName: "c" });
    const issues = validateConfig(config, { stage: "poll", directoryName: "m", autoComplete: true });
    expect(issues).toEqual([
      { code: "INVALID_ARG", message: "must specify 'version policy' for m", path: "version_policy" },
    ]);
  });
});

describe("dynamic batching", () => {
  it.each([
    ["preferred_batch_size: 0", "dynamic batching preferred size must be positive for m"],
    ["preferred_batch_size: 9", "dynamic batching preferred size must be <= max batch size for m"],
    ["priority_levels: 3", "default priority level must be in range [1, 3] for m"],
    ["priority_levels: 3 default_priority_level: 4", "default priority level must be in range [1, 3] for m"],
    [
      "priority_levels: 3 default_priority_level: 2 priority_queue_policy { key: 4 }",
      "priority queue policy must have priority level in range [1, 3] for m",
    ],
    [
      "preserve_ordering: true priority_levels: 2 default_priority_level: 1",
      "Only one priority level is allowed when 'preserve_ordering' is true for m",
    ],
    [
      "preserve_ordering: true default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 1 }",
      "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for m",
    ],
    [
      `preserve_ordering: true priority_levels: 1 default_priority_level: 1
       priority_queue_policy { key: 1 value { timeout_action: DELAY default_timeout_microseconds: 1 } }`,
      "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for m",
    ],
  ])("%s", (text, message) => {
    expect(messages(`dynamic_batching { ${text} }`)).toEqual([message]);
  });

  it.each([
    "preserve_ordering: true default_queue_policy { timeout_action: DELAY }",
    "priority_levels: 18446744073709551615 default_priority_level: 5 priority_queue_policy { key: 9 }",
    "default_priority_level: 7",
  ])("accepts %s", (text) => {
    expect(messages(`dynamic_batching { ${text} }`)).toEqual([]);
  });
});

describe("sequence batching", () => {
  const START = "kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1]";
  it.each([
    [`control_input { control { ${START} } }`, "sequence batching control tensor must have a name for m"],
    [
      `control_input { name: "A" control { ${START} } } control_input { name: "A" }`,
      "sequence batching control tensor 'A' is specified for multiple control kinds for m",
    ],
    [
      `control_input { name: "A" control { ${START} } } control_input { name: "B" control { ${START} } }`,
      "sequence batching specifies multiple CONTROL_SEQUENCE_START tensors for m",
    ],
    [
      'control_input { name: "A" control { kind: CONTROL_SEQUENCE_END } }',
      "sequence batching must specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for CONTROL_SEQUENCE_END for m",
    ],
    [
      'control_input { name: "A" control { kind: CONTROL_SEQUENCE_READY int32_false_true: [0, 1] bool_false_true: [f, t] } }',
      "sequence batching specifies more than one from 'int32_false_true', 'fp32_false_true' and 'bool_false_true' for CONTROL_SEQUENCE_READY for m",
    ],
    [
      'control_input { name: "A" control { int32_false_true: 1 } }',
      "sequence batching control 'int32_false_true' must have exactly 2 entries for CONTROL_SEQUENCE_START for m",
    ],
    [
      'control_input { name: "A" control { fp32_false_true: [0, 1, 2] } }',
      "sequence batching control 'fp32_false_true' must have exactly 2 entries for CONTROL_SEQUENCE_START for m",
    ],
    [
      'control_input { name: "A" control { kind: CONTROL_SEQUENCE_CORRID int32_false_true: [0, 1] data_type: TYPE_UINT64 } }',
      "sequence batching must not specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for CONTROL_SEQUENCE_CORRID for m",
    ],
    [
      'control_input { name: "A" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_FP32 } }',
      "unexpected data type for control CONTROL_SEQUENCE_CORRID for m. Allowed data types are TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING",
    ],
    ["oldest { preferred_batch_size: -1 }", "sequence batching preferred batch size must be positive for m"],
    [
      "oldest { preferred_batch_size: 9 }",
      "sequence batching preferred batch size must be <= max batch size for m",
    ],
    [
      "direct { minimum_slot_utilization: 1.5 }",
      "sequence batching minimum slot utilization must be in range (0.0, 1.0] for m",
    ],
  ])("%s", (text, message) => {
    expect(messages(`sequence_batching { ${text} }`)).toEqual([message]);
  });

  it("refuses the response cache", () => {
    expect(messages("sequence_batching {} response_cache { enable: true }")).toEqual([
      "Response Cache does not currently support model m with sequence batching scheduler. Please disable the response cache.",
    ]);
  });

  it.each([
    [
      "initial_state {} initial_state {}",
      "initial_state field for state input 'S' must contain exactly one or zero element. Found '2' elements.",
    ],
    [
      "initial_state {}",
      "The data type used for 'initial_state' field of state 'S' does not match the state data type.",
    ],
    [
      "initial_state { data_type: TYPE_FP32 }",
      "Field 'name' must be set when using initial_state for state input 'S'.",
    ],
    [
      'initial_state { data_type: TYPE_FP32 name: "i" }',
      "Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions for state input 'S'. 0 != 2",
    ],
    [
      'initial_state { data_type: TYPE_FP32 name: "i" dims: [-1, 2] }',
      "'initial_state' field for state input name 'S' contains variable dimensions.",
    ],
    [
      'initial_state { data_type: TYPE_FP32 name: "i" dims: [1, 3] }',
      "'initial_state' dim for input name 'S' doesn't match 'state' dim description. 3 != 2",
    ],
    [
      'initial_state { data_type: TYPE_FP32 name: "i" dims: [1, 2] }',
      "initial_state setting expects state'S' to have state_data set",
    ],
  ])("state { %s }", (text, message) => {
    const state = `state { input_name: "S" data_type: TYPE_FP32 dims: [-1, 2] ${text} }`;
    expect(messages(`sequence_batching { ${state} }`)).toEqual([message]);
  });

  it.each([
    [
      "KIND_GPU",
      "use_growable_memory: true",
      "In order to 'use_growable_memory', you must also enable 'use_single_buffer' for state input name 'S'.",
    ],
    [
      "KIND_CPU",
      "use_growable_memory: true use_same_buffer_for_input_output: true",
      "'use_growable_memory' can only work with KIND_GPU model instances right now. Please either change the instance " +
        "type to KIND_GPU or set 'use_growable_memory' to false for state input 'S'.",
    ],
    ["KIND_GPU", "use_growable_memory: true use_same_buffer_for_input_output: true", undefined],
    ["KIND_CPU", "use_same_buffer_for_input_output: true", undefined],
  ])("on %s: state { %s }", (kind, text, message) => {
    const state = `state { input_name: "S" data_type: TYPE_FP32 dims: 1 ${text} }`;
    const all = messages(`instance_group { count: 1 kind: ${kind} } sequence_batching { ${state} }`);
    expect(all.filter((one) => one.includes("use_growable"))).toEqual(message === undefined ? [] : [message]);
  });

  it("refuses two initial states of one name", () => {
    const initial = 'initial_state { data_type: TYPE_FP32 name: "i" dims: 1 zero_data: true }';
    const state = `state { input_name: "S" data_type: TYPE_FP32 dims: 1 ${initial} }`;
    expect(messages(`sequence_batching { ${state} ${state} }`)).toEqual([
      "State input name 'S' specified more than once.",
    ]);
  });
});

describe("inputs and outputs", () => {
  it.each([
    ["", "model input must specify 'name' for m"],
    ['name: "x"', "model input 'x' must specify 'data_type' for m"],
    ['name: "x" data_type: TYPE_FP32', "model input 'x' must specify 'dims' for m"],
    [
      'name: "x" data_type: TYPE_FP32 dims: [1, 0]',
      "model input 'x' dimension must be integer >= 1, or -1 to indicate a variable-size dimension for m",
    ],
    [
      'name: "x" data_type: TYPE_FP32 dims: 4 reshape { shape: [2, -2] }',
      "model input 'x' reshape dimensions must be integer >= 1, or -1 to indicate a variable-size dimension for m",
    ],
    [
      'name: "x" data_type: TYPE_FP32 dims: 4 reshape {}',
      "model input 'x' has different size for dims and reshape for m",
    ],
    [
      'name: "x" data_type: TYPE_FP32 dims: [2, -1, 3] reshape { shape: [3, -1, 2] }',
      "model input 'x' has different size for dims and reshape for m",
    ],
    [
      'name: "x" data_type: TYPE_FP32 dims: [-1, -1] reshape { shape: -1 }',
      "model input 'x' has different number of variable-size dimensions for dims and reshape for m",
    ],
    [
      'name: "x" data_type: TYPE_FP32 dims: [4294967296, 4294967296] reshape { shape: 1 }',
      "element count for tensor 'x dims' exceeds maximum size of 9223372036854775807 for m",
    ],
    [
      'name: "x" data_type: TYPE_FP32 dims: 4 format: FORMAT_NHWC',
      "model input NHWC/NCHW require 3 dims for m",
    ],
    [
      'name: "x" data_type: TYPE_FP32 dims: 4 is_shape_tensor: true',
      "shape tensors are only supported for TensorRT platform for m",
    ],
    [
      'name: "x" data_type: TYPE_FP32 dims: 4 is_non_linear_format_io: true',
      "Non-linear IO format is only supported for the TensorRT platform for m",
    ],
  ])("input { %s }", (text, message) => {
    expect(messages(`input { ${text} }`)).toEqual([message]);
  });

  it.each(["[2, 4, -1, 6] reshape { shape: [8, -1, 1, 6] }", "1 reshape {}", "[2, 3] reshape { shape: 6 }"])(
    "accepts dims: %s",
    (text) => {
      expect(messages(`input { name: "x" data_type: TYPE_FP32 dims: ${text} }`)).toEqual([]);
    },
  );

  it("refuses scalars of models that do not batch", () => {
    const text = 'output { name: "y" data_type: TYPE_FP32 dims: 1 reshape {} }';
    expect(messages(text, 'name: "m" backend: "x"')).toEqual([
      "model output 'y' cannot have empty reshape for non-batching model as scalar tensors are not supported for m",
    ]);
  });

  it("wants three dims for TensorRT's non-linear formats", () => {
    const text = 'output { name: "y" data_type: TYPE_FP32 dims: 1 is_non_linear_format_io: true }';
    expect(messages(text, 'name: "m" backend: "tensorrt" platform: "tensorrt_plan"')).toEqual([
      "Non-linear IO format output requires 3 dims for m",
    ]);
  });

  const IO =
    'input { name: "x" data_type: TYPE_FP32 dims: -1 } output { name: "y" data_type: TYPE_FP32 dims: -1 }';
  it.each([
    ["batch_input {}", "batch input kind 'BATCH_ELEMENT_COUNT' expects 1 source input, got 0 for m"],
    ['batch_input { source_input: "x" }', "batch input data type must be TYPE_INT32 or TYPE_FP32 for m"],
    ['batch_input { source_input: "z" data_type: TYPE_INT32 }', "unknown source input name 'z' for m"],
    ["batch_input { kind: 77 }", "unknown batch input kind '' for m"],
    [
      'batch_output { source_input: ["x", "x"] }',
      "batch output kind 'BATCH_SCATTER_WITH_INPUT_SHAPE' expects 1 source input, got 2 for m",
    ],
    ['batch_output { source_input: "z" }', "unknown source input name 'z' for m"],
    ['batch_output { source_input: "x" target_name: "z" }', "unknown target output name 'z' for m"],
    [
      'batch_output { source_input: "x" target_name: ["y", "y"] }',
      "target output name 'y' can only be specified once for m",
    ],
    ["batch_output { kind: 77 }", "unknown batch output kind '' for m"],
  ])("%s", (text, message) => {
    expect(messages(`${IO} ${text}`)).toEqual([message]);
  });

  it("looks for label files inside the model's directory", () => {
    const output = (file: string): string =>
      `output { name: "y" data_type: TYPE_FP32 dims: 1 label_filename: "${file}" }`;
    expect(messages(output("labels/../y.txt"))).toEqual([]);
    expect(messages(output("labels/../../y.txt"))).toEqual([
      "label file path 'm/labels/../../y.txt' for output 'y' in model 'm' is outside model directory",
    ]);
    expect(messages(`${output("a")} ${output("b")}`)).toEqual(["multiple label files for 'y'"]);
  });
});

describe("response cache and metrics", () => {
  it("refuses a cache of decoupled models", () => {
    expect(messages("model_transaction_policy { decoupled: true } response_cache { enable: true }")).toEqual([
      "Response Cache does not currently support model m with 'decoupled' transaction policy. Please disable the response cache.",
    ]);
  });

  it.each([
    ["histogram_options { buckets: 1 }", "metric control must specify 'metric_identifier'"],
    [
      "metric_identifier {} histogram_options { buckets: 1 }",
      "metric identifier must specify non-empty 'family'",
    ],
    ['metric_identifier { family: "f" }', "metric control must specify 'histogram_options'"],
    [
      'metric_identifier { family: "f" } histogram_options {}',
      "histogram options must specify non-empty 'buckets'",
    ],
  ])("metric_control { %s }", (text, message) => {
    expect(messages(`model_metrics { metric_control { ${text} } }`)).toEqual([message]);
  });
});

describe("assertNoIssues", () => {
  it("throws the first issue with its code", () => {
    expect(() => assertNoIssues([])).not.toThrow();
    const config = parseConfigText(`name: "m" instance_group { kind: ${Kind.AUTO} }`, { fileName: "c" });
    expect(() => assertNoIssues(validateConfig(config, { stage: "load", instanceGroups: GPUS }))).toThrow(
      expect.objectContaining({
        code: "INTERNAL",
        message: "instance group  of model m has unexpected kind KIND_AUTO",
      }),
    );
  });
});
