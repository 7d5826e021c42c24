import { existsSync } from "node:fs";
import { cp, mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Of the sample and fixture models. */
const COPIED: readonly string[] = [
  "classifier",
  "identity_bool",
  "identity_bytes",
  "identity_fp16",
  "identity_fp32",
  "identity_int64",
  "simple",
  "simple_string",
];

/** What fixtures have no model for, written in JavaScript. */
const WRITTEN: Readonly<Record<string, string>> = {
  // Triton's own example for decoupled models, with the same inputs and outputs.
  "repeat_int32/config.pbtxt": `
    backend: "javascript"
    input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
    input { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }
    input { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] }
    output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }
    output { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] }
    model_transaction_policy { decoupled: true }`,
  "repeat_int32/1/model.js": `
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    export default class {
      async execute(requests) {
        for (const request of requests) void this.repeat(request);
      }
      async repeat(request) {
        const sender = request.getResponseSender();
        const delays = request.input("DELAY").data;
        for (const [index, value] of request.input("IN").data.entries()) {
          if (sender.isCancelled()) break;
          if (delays[index] > 0) await sleep(delays[index]);
          const outputTensors = [
            new triton.Tensor("OUT", Int32Array.of(value), [1]),
            new triton.Tensor("IDX", Uint32Array.of(index), [1]),
          ];
          await sender.send(new triton.InferenceResponse({ outputTensors }));
        }
        sender.send(null, triton.RESPONSE_COMPLETE_FINAL);
      }
    }`,
  // Waits, each request by itself.
  "delayed/config.pbtxt": `
    backend: "javascript" max_batch_size: 8
    input { name: "DELAY" data_type: TYPE_UINT32 dims: [ 1 ] }
    output { name: "DELAYED" data_type: TYPE_UINT32 dims: [ 1 ] }
    instance_group { kind: KIND_CPU count: 2 }`,
  "delayed/1/model.js": eachRequest(`
    const tensor = request.input("DELAY");
    const [ms] = tensor.data;
    if (ms > 100000) throw new triton.ModelError("cannot wait so long", "INVALID_ARG");
    await new Promise((resolve) => setTimeout(resolve, ms));
    return new triton.Tensor("DELAYED", tensor.data, tensor.shape);`),
  "identity_bf16/config.pbtxt": identity("BF16"),
  "identity_bf16/1/model.js": eachRequest(`
    const tensor = request.input("INPUT0");
    return new triton.Tensor("OUTPUT0", tensor.data, tensor.shape, "BF16");`),
  "simple_identity/config.pbtxt": identity("STRING"),
  "simple_identity/1/model.js": eachRequest(`
    const tensor = request.input("INPUT0");
    return new triton.Tensor("OUTPUT0", tensor.elements, tensor.shape, "BYTES");`),
};

/** In the place of Triton's example models where those are not given. */
const STAND_INS: Readonly<Record<string, string>> = {
  "simple_int8/config.pbtxt": `
    backend: "javascript" max_batch_size: 8
    input { name: "INPUT0" data_type: TYPE_INT8 dims: [ 16 ] }
    input { name: "INPUT1" data_type: TYPE_INT8 dims: [ 16 ] }
    output { name: "OUTPUT0" data_type: TYPE_INT8 dims: [ 16 ] }
    output { name: "OUTPUT1" data_type: TYPE_INT8 dims: [ 16 ] }`,
  "simple_int8/1/model.js": eachRequest(`
    const [left, right] = ["INPUT0", "INPUT1"].map((name) => request.input(name));
    return [
      new triton.Tensor("OUTPUT0", left.data.map((value, index) => value + right.data[index]), left.shape),
      new triton.Tensor("OUTPUT1", left.data.map((value, index) => value - right.data[index]), left.shape),
    ];`),
  "simple_sequence/config.pbtxt": sequence("direct { }"),
  "simple_sequence/1/model.js": sequenceCode("0"),
  "simple_dyna_sequence/config.pbtxt": sequence("oldest { max_candidate_sequences: 16 }"),
  "simple_dyna_sequence/1/model.js": sequenceCode("Number(request.correlationId)"),
};

/** Writes the repository that the clients are tried with. Triton's example models come from `examples` where that is given. */
export async function writeClientModels(
  target: string,
  { models, examples }: { readonly models: string; readonly examples: string | undefined },
): Promise<void> {
  for (const name of COPIED) await cp(join(models, name), join(target, name), { recursive: true });
  await writeFiles(target, WRITTEN);
  if (examples === undefined || !existsSync(examples)) {
    await writeFiles(target, STAND_INS);
    return;
  }
  for (const name of await readdir(examples)) {
    await cp(join(examples, name), join(target, name), { recursive: true, force: true });
  }
}

async function writeFiles(target: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(target, path)), { recursive: true });
    await writeFile(join(target, path), text);
  }
}

function identity(datatype: string): string {
  return `
    backend: "javascript" max_batch_size: 8
    input { name: "INPUT0" data_type: TYPE_${datatype} dims: [ -1 ] }
    output { name: "OUTPUT0" data_type: TYPE_${datatype} dims: [ -1 ] }`;
}

function sequence(strategy: string): string {
  return `
    backend: "javascript" max_batch_size: 8
    input { name: "INPUT" data_type: TYPE_INT32 dims: [ 1 ] }
    output { name: "OUTPUT" data_type: TYPE_INT32 dims: [ 1 ] }
    sequence_batching { ${strategy} max_sequence_idle_microseconds: 10000000 }`;
}

function sequenceCode(atTheEnd: string): string {
  return eachRequest(`
    const tensor = request.input("INPUT");
    const start = (request.flags & triton.SEQUENCE_START) === 0 ? 0 : 1;
    const end = (request.flags & triton.SEQUENCE_END) === 0 ? 0 : ${atTheEnd};
    return new triton.Tensor("OUTPUT", tensor.data.map((value) => value + start + end), tensor.shape);`);
}

/** A model that answers each request by itself, with what `body` returns. */
function eachRequest(body: string): string {
  return `
    async function answer(request) {${body}}
    export default class {
      execute(requests) {
        return Promise.all(requests.map(async (request) => {
          try {
            return new triton.InferenceResponse({ outputTensors: [await answer(request)].flat() });
          } catch (error) {
            const known = error instanceof triton.ModelError ? error : new triton.ModelError(String(error));
            return new triton.InferenceResponse({ error: known });
          }
        }));
      }
    }`;
}
