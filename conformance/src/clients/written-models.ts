const COLOURS = "RED\nGREEN\nBLUE\n";

const DELAY: string = eachRequest(`
  const tensor = request.input("DELAY");
  const [ms] = tensor.data;
  if (ms > 100000) throw new triton.ModelError("cannot wait so long", "INVALID_ARG");
  await new Promise((resolve) => setTimeout(resolve, ms));
  return new triton.Tensor("DELAYED", tensor.data, tensor.shape);`);

/** What fixtures have no model for, written in JavaScript. */
export const WRITTEN: Readonly<Record<string, string>> = {
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
    const sleep = (ms, signal) => new Promise((resolve) => {
      setTimeout(resolve, ms);
      signal.addEventListener("abort", resolve);
    });
    export default class {
      async initialize({ metricFamily }) {
        const family = await metricFamily({
          name: "repeat_int32_running", description: "Requests that are being answered", kind: "gauge",
        });
        this.running = await family.metric({ labels: { model: "repeat_int32" } });
      }
      async execute(requests) {
        for (const request of requests) void this.repeat(request);
      }
      async repeat(request) {
        await this.running.increment(1);
        const sender = request.getResponseSender();
        const delays = request.input("DELAY").data;
        for (const [index, value] of request.input("IN").data.entries()) {
          if (sender.isCancelled()) break;
          if (delays[index] > 0) await sleep(delays[index], request.signal);
          const outputTensors = [
            new triton.Tensor("OUT", Int32Array.of(value), [1]),
            new triton.Tensor("IDX", Uint32Array.of(index), [1]),
          ];
          await sender.send(new triton.InferenceResponse({ outputTensors }));
        }
        sender.send(null, triton.RESPONSE_COMPLETE_FINAL);
        await this.running.increment(-1);
      }
    }`,
  // Waits, each request by itself.
  "delayed/config.pbtxt": `
    backend: "javascript" max_batch_size: 8
    input { name: "DELAY" data_type: TYPE_UINT32 dims: [ 1 ] }
    output { name: "DELAYED" data_type: TYPE_UINT32 dims: [ 1 ] }
    instance_group { kind: KIND_CPU count: 2 }`,
  "delayed/1/model.js": DELAY,
  // Waits too, one request after the other.
  "queued/config.pbtxt": `
    backend: "javascript" max_batch_size: 1
    input { name: "DELAY" data_type: TYPE_UINT32 dims: [ 1 ] }
    output { name: "DELAYED" data_type: TYPE_UINT32 dims: [ 1 ] }
    dynamic_batching {
      default_queue_policy { default_timeout_microseconds: 60000000 allow_timeout_override: true }
    }
    instance_group { kind: KIND_CPU count: 1 }`,
  "queued/1/model.js": DELAY,
  "identity_bf16/config.pbtxt": identity("BF16"),
  "identity_bf16/1/model.js": eachRequest(`
    const tensor = request.input("INPUT0");
    return new triton.Tensor("OUTPUT0", tensor.data, tensor.shape, "BF16");`),
  "simple_identity/config.pbtxt": identity("STRING"),
  "simple_identity/1/model.js": eachRequest(`
    const tensor = request.input("INPUT0");
    return new triton.Tensor("OUTPUT0", tensor.elements, tensor.shape, "BYTES");`),
  "custom_identity_int32/config.pbtxt": identity("INT32"),
  "custom_identity_int32/1/model.js": eachRequest(`
    const tensor = request.input("INPUT0");
    return new triton.Tensor("OUTPUT0", tensor.data, tensor.shape);`),
  // Twice its input, by way of two models.
  "doubled_ensemble/config.pbtxt": `
    platform: "ensemble" max_batch_size: 8
    input { name: "INPUT" data_type: TYPE_INT32 dims: [ 16 ] }
    output { name: "OUTPUT" data_type: TYPE_INT32 dims: [ 16 ] }
    ensemble_scheduling {
      step {
        model_name: "custom_identity_int32" model_version: -1
        input_map { key: "INPUT0" value: "INPUT" }
        output_map { key: "OUTPUT0" value: "same" }
      }
      step {
        model_name: "simple" model_version: -1
        input_map { key: "INPUT0" value: "same" }
        input_map { key: "INPUT1" value: "same" }
        output_map { key: "OUTPUT0" value: "OUTPUT" }
      }
    }`,
  "doubled_ensemble/1/.keep": "",
  // Adds up what comes, by sequence.
  "simple_string_dyna_sequence/config.pbtxt": sequence("oldest { max_candidate_sequences: 16 }"),
  "simple_string_dyna_sequence/1/model.js": `
    const sums = new Map();
    ${eachRequest(`
      const tensor = request.input("INPUT");
      const { correlationId: id, flags } = request;
      const before = (flags & triton.SEQUENCE_START) === 0 ? sums.get(id) : 0;
      const sum = before + tensor.data[0];
      sums.set(id, sum);
      const end = (flags & triton.SEQUENCE_END) === 0 ? 0 : Number(id);
      return new triton.Tensor("OUTPUT", Int32Array.of(sum + end), tensor.shape);`)}`,
  // The two models of pictures that Triton's examples name tell here which colour a picture has most of.
  "densenet_onnx/config.pbtxt": `
    backend: "javascript" max_batch_size: 0
    input {
      name: "data_0" data_type: TYPE_FP32 format: FORMAT_NCHW dims: [ 3, 224, 224 ]
      reshape { shape: [ 1, 3, 224, 224 ] }
    }
    output {
      name: "fc6_1" data_type: TYPE_FP32 dims: [ 3 ] reshape { shape: [ 1, 3, 1, 1 ] }
      label_filename: "labels.txt"
    }`,
  "densenet_onnx/labels.txt": COLOURS,
  "densenet_onnx/1/model.js": eachRequest(`
    const { data, shape } = request.input("data_0");
    const size = shape[2] * shape[3];
    const means = [0, 1, 2].map((channel) =>
      data.subarray(channel * size, (channel + 1) * size).reduce((sum, value) => sum + value, 0) / size);
    return new triton.Tensor("fc6_1", Float32Array.from(means), [1, 3, 1, 1]);`),
  "inception_onnx/config.pbtxt": `
    backend: "javascript" max_batch_size: 8
    input { name: "input" data_type: TYPE_FP32 format: FORMAT_NHWC dims: [ 299, 299, 3 ] }
    output { name: "classes" data_type: TYPE_FP32 dims: [ 3 ] label_filename: "labels.txt" }`,
  "inception_onnx/labels.txt": COLOURS,
  "inception_onnx/1/model.js": eachRequest(`
    const { data, shape } = request.input("input");
    const means = new Float32Array(3 * shape[0]);
    const size = shape[1] * shape[2];
    for (const [index, value] of data.entries()) {
      means[3 * Math.floor(index / (3 * size)) + (index % 3)] += value / size;
    }
    return new triton.Tensor("classes", means, [shape[0], 3]);`),
  // Takes the first pixel of a picture file without compression for all of it.
  "preprocess/config.pbtxt": `
    backend: "javascript" max_batch_size: 8
    input { name: "FILE" data_type: TYPE_STRING dims: [ 1 ] }
    output { name: "PIXELS" data_type: TYPE_FP32 dims: [ 299, 299, 3 ] }`,
  "preprocess/1/model.js": eachRequest(`
    const files = request.input("FILE").elements;
    const size = 299 * 299 * 3;
    const pixels = new Float32Array(files.length * size);
    for (const [row, file] of files.entries()) {
      const colour = file.subarray(-3);
      for (let index = 0; index < size; index += 1) pixels[row * size + index] = colour[index % 3] / 255;
    }
    return new triton.Tensor("PIXELS", pixels, [files.length, 299, 299, 3]);`),
  "preprocess_inception_ensemble/config.pbtxt": `
    platform: "ensemble" max_batch_size: 8
    input { name: "INPUT" data_type: TYPE_STRING dims: [ 1 ] }
    output { name: "OUTPUT" data_type: TYPE_FP32 dims: [ 3 ] }
    ensemble_scheduling {
      step {
        model_name: "preprocess" model_version: -1
        input_map { key: "FILE" value: "INPUT" }
        output_map { key: "PIXELS" value: "pixels" }
      }
      step {
        model_name: "inception_onnx" model_version: -1
        input_map { key: "input" value: "pixels" }
        output_map { key: "classes" value: "OUTPUT" }
      }
    }`,
  // A directory for the version, which has no files.
  "preprocess_inception_ensemble/1/.keep": "",
};

/** In the place of Triton's example models where those are not given. */
export const STAND_INS: Readonly<Record<string, string>> = {
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
