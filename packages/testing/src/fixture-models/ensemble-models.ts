import type { FixtureModel } from "./fixture-models.ts";

/** Ensembles of the other fixture models. They have no files of their own, and so an empty version directory. */
export function ensembleModels(): FixtureModel[] {
  return [
    {
      // Twice the features plus 1, classified; the labels are those of the classifier.
      name: "ensemble_chain",
      directories: ["1"],
      files: {
        "config.pbtxt": `name: "ensemble_chain"
platform: "ensemble"
max_batch_size: 8
input [ { name: "FEATURES" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "SCORES" data_type: TYPE_FP32 dims: [ 3 ] } ]
ensemble_scheduling {
  step [
    {
      model_name: "batcher"
      model_version: -1
      input_map { key: "INPUT" value: "FEATURES" }
      output_map { key: "OUTPUT" value: "scaled" }
    },
    {
      model_name: "classifier"
      model_version: -1
      input_map { key: "FEATURES" value: "scaled" }
      output_map { key: "SCORES" value: "SCORES" }
    }
  ]
}
`,
      },
    },
    {
      // Versions 1 and 2 of one model side by side, their results added and subtracted from each other.
      name: "ensemble_diamond",
      directories: ["1"],
      files: {
        "config.pbtxt": `name: "ensemble_diamond"
platform: "ensemble"
max_batch_size: 8
input [ { name: "INPUT" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [
  { name: "LEFT" data_type: TYPE_FP32 dims: [ 4 ] },
  { name: "RIGHT" data_type: TYPE_FP32 dims: [ 4 ] },
  { name: "LAST" data_type: TYPE_FP32 dims: [ 4 ] }
]
ensemble_scheduling {
  step [
    {
      model_name: "batcher"
      model_version: -1
      input_map { key: "INPUT" value: "INPUT" }
      output_map { key: "OUTPUT" value: "scaled" }
    },
    {
      model_name: "versions"
      model_version: 1
      input_map { key: "INPUT" value: "scaled" }
      output_map { key: "OUTPUT" value: "LEFT" }
    },
    {
      model_name: "versions"
      model_version: 2
      input_map { key: "INPUT" value: "scaled" }
      output_map { key: "OUTPUT" value: "RIGHT" }
    },
    {
      model_name: "optional_input"
      model_version: -1
      input_map { key: "INPUT" value: "LEFT" }
      input_map { key: "BIAS" value: "RIGHT" }
      output_map { key: "OUTPUT" value: "LAST" }
    }
  ]
}
`,
      },
    },
  ];
}
