import type { MemoryModel } from "@naiad/testing";
import type { Scenario } from "./oracle-request.ts";

/** The repository that a scenario meets. */
export function modelsOf({ control, loadModels }: Scenario): Readonly<Record<string, MemoryModel>> {
  const all = Object.entries(oracleModels());
  return Object.fromEntries(control === "none" ? all.filter(([name]) => loadModels.includes(name)) : all);
}

/**
 * The model repository that a real Triton is asked about. Its only backend at hand is Python, so every model is one of two
 * programs: outputs equal to inputs, or their sum and difference.
 */
function oracleModels(): Readonly<Record<string, MemoryModel>> {
  const models: Record<string, MemoryModel> = {};
  const add = (
    name: string,
    program: "identity" | "add_sub",
    config: string,
    more: MemoryModel = {},
  ): void => {
    models[name] = {
      "config.pbtxt": `name: "${name}"\nbackend: "python"\n${config}\ninstance_group [ { kind: KIND_CPU } ]\n`,
      "1/model.py": PROGRAMS[program],
      ...more,
    };
  };
  add("simple", "add_sub", `max_batch_size: 8\n${pair("TYPE_INT32", "16")}`);
  for (const type of IDENTITY_TYPES) {
    add(`identity_${type.toLowerCase()}`, "identity", single(`TYPE_${type}`, "-1"));
  }
  add("matrix", "identity", single("TYPE_FP32", "2, 3"));
  add("batched", "identity", `max_batch_size: 4\n${single("TYPE_FP32", "-1")}`);
  add(
    "reshaped",
    "identity",
    "max_batch_size: 4\n" +
      'input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2, 2 ] reshape { shape: [ 4 ] } } ]\n' +
      'output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2, 2 ] reshape { shape: [ 4 ] } } ]',
  );
  add(
    "labelled",
    "identity",
    "max_batch_size: 2\n" +
      'input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]\n' +
      'output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] label_filename: "labels.txt" } ]',
    { "labels.txt": "ant\nbee\ncat\n" },
  );
  add(
    "optional",
    "identity",
    "max_batch_size: 4\n" +
      'input [ { name: "INPUT0" data_type: TYPE_INT32 dims: [ 2 ] }, { name: "INPUT1" data_type: TYPE_INT32 dims: [ 2 ] optional: true } ]\n' +
      'output [ { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 2 ] } ]',
  );
  add(
    "queued",
    "add_sub",
    "max_batch_size: 8\ndynamic_batching { priority_levels: 2 default_priority_level: 1 " +
      `default_queue_policy { allow_timeout_override: true } }\n${pair("TYPE_INT32", "16")}`,
  );
  add("versions", "add_sub", `max_batch_size: 8\nversion_policy { all { } }\n${pair("TYPE_INT32", "16")}`, {
    "3/model.py": PROGRAMS.add_sub,
  });
  add("decoupled", "identity", `model_transaction_policy { decoupled: true }\n${single("TYPE_FP32", "-1")}`);
  return { ...models, ...brokenModels() };
}

/** Models that must not load, each for one reason. */
function brokenModels(): Readonly<Record<string, MemoryModel>> {
  const program = { "1/model.py": PROGRAMS.identity };
  const io = single("TYPE_FP32", "-1");
  return {
    bad_syntax: { "config.pbtxt": 'name: "bad_syntax"\nbackend: "python"\ninput [ {\n', ...program },
    bad_field: {
      "config.pbtxt": `name: "bad_field"\nbackend: "python"\nno_such_field: 1\n${io}`,
      ...program,
    },
    bad_name: { "config.pbtxt": `name: "another"\nbackend: "python"\n${io}`, ...program },
    bad_dims: {
      "config.pbtxt": `name: "bad_dims"\nbackend: "python"\n${single("TYPE_FP32", "0")}`,
      ...program,
    },
    bad_batch: {
      "config.pbtxt": `name: "bad_batch"\nbackend: "python"\nmax_batch_size: -1\n${io}`,
      ...program,
    },
    bad_backend: { "config.pbtxt": `name: "bad_backend"\nbackend: "nothing"\n${io}`, ...program },
    no_backend: { "config.pbtxt": `name: "no_backend"\n${io}`, "1/model.xyz": "" },
    no_type: {
      "config.pbtxt": 'name: "no_type"\nbackend: "python"\ninput [ { name: "INPUT0" dims: [ 1 ] } ]\n',
      ...program,
    },
    no_version: { "config.pbtxt": `name: "no_version"\nbackend: "python"\n${io}` },
  };
}

const IDENTITY_TYPES = [
  ...["BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64"],
  ...["FP16", "FP32", "FP64", "STRING"],
] as const;

function single(type: string, dims: string): string {
  return (
    `input [ { name: "INPUT0" data_type: ${type} dims: [ ${dims} ] } ]\n` +
    `output [ { name: "OUTPUT0" data_type: ${type} dims: [ ${dims} ] } ]`
  );
}

function pair(type: string, dims: string): string {
  const tensors = (kind: string): string =>
    [0, 1].map((index) => `{ name: "${kind}${index}" data_type: ${type} dims: [ ${dims} ] }`).join(", ");
  return `input [ ${tensors("INPUT")} ]\noutput [ ${tensors("OUTPUT")} ]`;
}

const PROGRAMS = {
  identity: `import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            value = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", value)]))
        return responses
`,
  add_sub: `import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            a = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
            b = pb_utils.get_input_tensor_by_name(request, "INPUT1").as_numpy()
            outputs = [pb_utils.Tensor("OUTPUT0", a + b), pb_utils.Tensor("OUTPUT1", a - b)]
            responses.append(pb_utils.InferenceResponse(outputs))
        return responses
`,
};
