import {
  addModel,
  addSubModel,
  affineModel,
  classifierModel,
  cnnModel,
  convolutionModel,
  externalDataModel,
  identityModel,
  mlpModel,
  optionalInputModel,
  raggedSumModel,
  slowLoopModel,
  textAddSubModel,
} from "./models.ts";
import { ElementType } from "./onnx-graph.ts";
import { sequenceModels } from "./sequence-models.ts";

export interface FixtureModel {
  readonly name: string;
  /** Content by path inside the model's directory. */
  readonly files: Readonly<Record<string, Uint8Array | string>>;
  /** Directories that may be without files. */
  readonly directories?: readonly string[];
}

/** One CPU instance: small fixtures should not cost two workers each. */
const ONE_CPU = `instance_group [ { kind: KIND_CPU count: 1 } ]`;

/** The model directories that the table in `make-fixture-models.ts` describes. */
export function fixtureModels(): FixtureModel[] {
  return [
    addSub(),
    textAddSub(),
    identity("identity_fp32", "TYPE_FP32", ElementType.FLOAT, 64),
    identity("identity_fp16", "TYPE_FP16", ElementType.FLOAT16, 8),
    identity("identity_int64", "TYPE_INT64", ElementType.INT64, 8),
    identity("identity_bool", "TYPE_BOOL", ElementType.BOOL, 8),
    identity("identity_bytes", "TYPE_STRING", ElementType.STRING, 8),
    {
      name: "add_sub_float",
      files: { "1/model.onnx": addSubModel(ElementType.FLOAT, ["batch", 16]) },
    },
    mlp("mlp_2x128", "KIND_CPU"),
    mlp("mlp_2x128_gpu", "KIND_GPU"),
    cnn(),
    batcher(),
    slowLoop(),
    classifier(),
    fp16Add(),
    externalData(),
    versions(),
    optionalInput(),
    raggedSum(),
    convolution(128),
    convolution(129),
    ...sequenceModels(),
  ];
}

function addSub(): FixtureModel {
  return {
    name: "simple",
    files: {
      "config.pbtxt": `name: "simple"
backend: "onnxruntime"
max_batch_size: 8
input [
  { name: "INPUT0" data_type: TYPE_INT32 dims: [ 16 ] },
  { name: "INPUT1" data_type: TYPE_INT32 dims: [ 16 ] }
]
output [
  { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 16 ] },
  { name: "OUTPUT1" data_type: TYPE_INT32 dims: [ 16 ] }
]
dynamic_batching { }
${ONE_CPU}
`,
      // An unnamed dynamic dimension, as in Triton's own example.
      "1/model.onnx": addSubModel(ElementType.INT32, [null, 16]),
    },
  };
}

function textAddSub(): FixtureModel {
  return {
    name: "simple_string",
    files: {
      "config.pbtxt": `name: "simple_string"
backend: "onnxruntime"
max_batch_size: 8
input [
  { name: "INPUT0" data_type: TYPE_STRING dims: [ 16 ] },
  { name: "INPUT1" data_type: TYPE_STRING dims: [ 16 ] }
]
output [
  { name: "OUTPUT0" data_type: TYPE_STRING dims: [ 16 ] },
  { name: "OUTPUT1" data_type: TYPE_STRING dims: [ 16 ] }
]
instance_group [ { kind: KIND_GPU count: 1 } ]
`,
      "1/model.onnx": textAddSubModel(["batch", 16]),
    },
  };
}

function identity(name: string, dataType: string, type: ElementType, maxBatchSize: number): FixtureModel {
  return {
    name,
    files: {
      "config.pbtxt": `name: "${name}"
backend: "onnxruntime"
max_batch_size: ${maxBatchSize}
input [ { name: "INPUT0" data_type: ${dataType} dims: [ -1 ] } ]
output [ { name: "OUTPUT0" data_type: ${dataType} dims: [ -1 ] } ]
dynamic_batching { }
${ONE_CPU}
`,
      "1/model.onnx": identityModel(type, ["batch", "length"]),
    },
  };
}

function mlp(name: string, kind: "KIND_CPU" | "KIND_GPU"): FixtureModel {
  return {
    name,
    files: {
      "config.pbtxt": `name: "${name}"
backend: "onnxruntime"
max_batch_size: 32
input [ { name: "INPUT" data_type: TYPE_FP32 dims: [ 128 ] } ]
output [ { name: "OUTPUT" data_type: TYPE_FP32 dims: [ 16 ] } ]
dynamic_batching { }
instance_group [ { kind: ${kind} count: 1 } ]
`,
      "1/model.onnx": mlpModel(),
    },
  };
}

function cnn(): FixtureModel {
  return {
    name: "cnn_224",
    files: {
      "config.pbtxt": `name: "cnn_224"
backend: "onnxruntime"
max_batch_size: 16
input [ { name: "IMAGE" data_type: TYPE_FP32 format: FORMAT_NCHW dims: [ 3, 224, 224 ] } ]
output [ { name: "SCORES" data_type: TYPE_FP32 dims: [ 10 ] } ]
dynamic_batching { }
${ONE_CPU}
`,
      "1/model.onnx": cnnModel(),
    },
  };
}

function batcher(): FixtureModel {
  return {
    name: "batcher",
    files: {
      "config.pbtxt": `name: "batcher"
backend: "onnxruntime"
max_batch_size: 16
input [ { name: "INPUT" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "OUTPUT" data_type: TYPE_FP32 dims: [ 4 ] } ]
dynamic_batching { max_queue_delay_microseconds: 5000 }
${ONE_CPU}
`,
      "1/model.onnx": affineModel(2, 1),
    },
  };
}

function slowLoop(): FixtureModel {
  return {
    name: "slow_loop",
    files: {
      "config.pbtxt": `name: "slow_loop"
backend: "onnxruntime"
max_batch_size: 4
input [ { name: "ITERATIONS" data_type: TYPE_INT64 dims: [ 1 ] } ]
output [
  { name: "ECHO" data_type: TYPE_INT64 dims: [ 1 ] },
  { name: "CHECKSUM" data_type: TYPE_FP32 dims: [ 1 ] }
]
dynamic_batching { max_queue_delay_microseconds: 20000 }
${ONE_CPU}
parameters { key: "watchdog_first_run_ms" value { string_value: "3000" } }
parameters { key: "watchdog_run_ms" value { string_value: "3000" } }
`,
      "1/model.onnx": slowLoopModel(),
    },
  };
}

function classifier(): FixtureModel {
  return {
    name: "classifier",
    files: {
      "config.pbtxt": `name: "classifier"
backend: "onnxruntime"
max_batch_size: 8
input [ { name: "FEATURES" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "SCORES" data_type: TYPE_FP32 dims: [ 3 ] label_filename: "labels.txt" } ]
${ONE_CPU}
`,
      "labels.txt": "rock\npaper\nscissors\n",
      "1/model.onnx": classifierModel(),
    },
  };
}

function fp16Add(): FixtureModel {
  return {
    name: "fp16_add",
    files: {
      "config.pbtxt": `name: "fp16_add"
backend: "onnxruntime"
max_batch_size: 8
input [
  { name: "INPUT0" data_type: TYPE_FP16 dims: [ 16 ] },
  { name: "INPUT1" data_type: TYPE_FP16 dims: [ 16 ] }
]
output [ { name: "OUTPUT0" data_type: TYPE_FP16 dims: [ 16 ] } ]
instance_group [ { kind: KIND_GPU count: 1 } ]
`,
      "1/model.onnx": addModel(ElementType.FLOAT16, ["batch", 16]),
    },
  };
}

function externalData(): FixtureModel {
  const { model, data } = externalDataModel("weights.bin");
  return {
    name: "external_data",
    files: {
      "config.pbtxt": `name: "external_data"
backend: "onnxruntime"
max_batch_size: 8
input [ { name: "INPUT" data_type: TYPE_FP32 dims: [ 64 ] } ]
output [ { name: "OUTPUT" data_type: TYPE_FP32 dims: [ 8 ] } ]
${ONE_CPU}
`,
      "1/model.onnx": model,
      "1/weights.bin": data,
    },
  };
}

function versions(): FixtureModel {
  return {
    name: "versions",
    files: {
      "config.pbtxt": `name: "versions"
backend: "onnxruntime"
max_batch_size: 8
input [ { name: "INPUT" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "OUTPUT" data_type: TYPE_FP32 dims: [ 4 ] } ]
version_policy { all { } }
${ONE_CPU}
`,
      "1/model.onnx": affineModel(1, 100),
      "2/model.onnx": affineModel(1, 200),
    },
  };
}

function optionalInput(): FixtureModel {
  return {
    name: "optional_input",
    files: {
      "config.pbtxt": `name: "optional_input"
backend: "onnxruntime"
input [
  { name: "INPUT" data_type: TYPE_FP32 dims: [ 4 ] },
  { name: "BIAS" data_type: TYPE_FP32 dims: [ 4 ] optional: true }
]
output [ { name: "OUTPUT" data_type: TYPE_FP32 dims: [ 4 ] } ]
${ONE_CPU}
`,
      "1/model.onnx": optionalInputModel(),
    },
  };
}

/** Says nothing of where it is to run, so a GPU is taken where there is one. */
function convolution(channels: number): FixtureModel {
  const name = `conv_${channels}`;
  return {
    name,
    files: {
      "config.pbtxt": `name: "${name}"
backend: "onnxruntime"
max_batch_size: 8
input [ { name: "INPUT" data_type: TYPE_FP32 dims: [ ${channels}, 8 ] } ]
output [ { name: "OUTPUT" data_type: TYPE_FP32 dims: [ 4, 8 ] } ]
`,
      "1/model.onnx": convolutionModel(channels),
    },
  };
}

function raggedSum(): FixtureModel {
  return {
    name: "ragged_sum",
    files: {
      "config.pbtxt": `name: "ragged_sum"
backend: "onnxruntime"
max_batch_size: 16
input [ { name: "ITEMS" data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: true } ]
output [
  { name: "SUM" data_type: TYPE_FP32 dims: [ 1 ] },
  { name: "COPY" data_type: TYPE_FP32 dims: [ -1 ] }
]
batch_input [
  {
    kind: BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO
    target_name: "ENDS"
    data_type: TYPE_INT32
    source_input: "ITEMS"
  }
]
batch_output [ { target_name: "COPY" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "ITEMS" } ]
dynamic_batching { max_queue_delay_microseconds: 20000 }
${ONE_CPU}
`,
      "1/model.onnx": raggedSumModel(),
    },
  };
}
