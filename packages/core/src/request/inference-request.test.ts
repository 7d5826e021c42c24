import type { ModelSignature } from "@naiad/model-config";
import { modelSignature, normalizeConfig, parseConfigText } from "@naiad/model-config";
import type { BytesTensor, Datatype, InferenceRequest, Tensor } from "@naiad/protocol";
import { elementByteSize, elementCount } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { validateRequest } from "./inference-request.ts";

function signature(text: string): ModelSignature {
  return modelSignature(
    normalizeConfig(parseConfigText(`name: "m" backend: "fake" ${text}`, { fileName: "config.pbtxt" })),
  );
}

const TWO_INPUTS = `
  input { name: "a" data_type: TYPE_INT32 dims: [16] }
  input { name: "b" data_type: TYPE_FP32 dims: [-1, 2] }
  output { name: "x" data_type: TYPE_INT32 dims: [16] }
  output { name: "y" data_type: TYPE_INT32 dims: [16] }`;
const batching = signature(`max_batch_size: 8 ${TWO_INPUTS}`);
const plain = signature(TWO_INPUTS);
const optional = signature(`
  max_batch_size: 8
  input { name: "a" data_type: TYPE_INT32 dims: [1] }
  input { name: "b" data_type: TYPE_INT32 dims: [1] optional: true }
  output { name: "x" data_type: TYPE_INT32 dims: [1] }`);
const strings = signature(`
  max_batch_size: 8
  input { name: "s" data_type: TYPE_STRING dims: [-1] }
  output { name: "x" data_type: TYPE_INT32 dims: [1] }`);

const open = signature(`
  input { name: "e" data_type: TYPE_INT32 dims: [-1, -1] }
  output { name: "x" data_type: TYPE_INT32 dims: [1] }`);

/** As it comes from a JSON document; without content. */
function vast(name: string, datatype: Datatype, exactShape: readonly bigint[]): BytesTensor {
  return { ...tensor(name, datatype, exactShape.map(Number), 0), exactShape };
}

function tensor(
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  byteLength?: number,
): BytesTensor {
  const size = byteLength ?? elementCount(shape) * elementByteSize(datatype);
  return { kind: "bytes", name, datatype, shape, bytes: new Uint8Array(Math.max(0, size)) };
}

function text(shape: readonly number[], bytes: readonly number[]): BytesTensor {
  return { kind: "bytes", name: "s", datatype: "BYTES", shape, bytes: Uint8Array.from(bytes) };
}

function request(inputs: readonly Tensor[], more: Partial<InferenceRequest> = {}): InferenceRequest {
  return { modelName: "m", modelVersion: "", id: "7", parameters: {}, inputs, outputs: [], ...more };
}

const a = tensor("a", "INT32", [2, 16]);
const b = tensor("b", "FP32", [2, 3, 2]);

const REFUSED: readonly {
  readonly name: string;
  readonly model?: ModelSignature;
  readonly request: InferenceRequest;
  readonly message: string;
}[] = [
  {
    name: "the same input twice",
    request: request([a, a]),
    message: "[request id: 7] input 'a' already exists in request",
  },
  {
    name: "the same output twice",
    request: request([a, b], { outputs: [{ name: "x" }, { name: "x" }] }),
    message: "[request id: 7] output 'x' already exists in request",
  },
  {
    name: "an unknown output, before anything about inputs",
    request: request([], { outputs: [{ name: "z" }] }),
    message: "unexpected inference output 'z' for model 'm'",
  },
  {
    name: "an input missing",
    request: request([a]),
    message:
      "[request id: 7] expected 2 inputs but got 1 inputs for model 'm'. Got input(s) ['a'], but missing required input(s) ['b']. Please provide all required input(s).",
  },
  {
    name: "no inputs and no id",
    request: request([], { id: "" }),
    message:
      "[request id: <id_unknown>] expected 2 inputs but got 0 inputs for model 'm'. Got input(s) [], but missing required input(s) ['a','b']. Please provide all required input(s).",
  },
  {
    name: "an input missing where some are optional",
    model: optional,
    request: request([]),
    message:
      "[request id: 7] expected number of inputs between 1 and 2 but got 0 inputs for model 'm'. Got input(s) [], but missing required input(s) ['a']. Please provide all required input(s).",
  },
  {
    name: "too many inputs",
    request: request([a, b, tensor("c", "INT32", [2, 1])]),
    message:
      "[request id: 7] expected 2 inputs but got 3 inputs for model 'm'. Got input(s) ['a','b','c'], but missing required input(s) []. Please provide all required input(s).",
  },
  {
    name: "an unknown input",
    request: request([a, tensor("c", "INT32", [2, 1])]),
    message: "unexpected inference input 'c' for model 'm'",
  },
  {
    name: "an unknown input of a model without batching",
    model: plain,
    request: request([tensor("a", "INT32", [16]), tensor("c", "INT32", [1])]),
    message: "unexpected inference input 'c' for model 'm'",
  },
  {
    name: "no batch dimension",
    request: request([tensor("a", "INT32", []), b]),
    message: "[request id: 7] input 'a' has no shape but model requires batch dimension for 'm'",
  },
  {
    name: "different batch sizes",
    request: request([a, tensor("b", "FP32", [3, 3, 2])]),
    message: "[request id: 7] input 'b' batch size does not match other inputs for 'm'",
  },
  {
    name: "a batch of none beside one of some",
    request: request([tensor("a", "INT32", [0, 16]), b]),
    message: "[request id: 7] input 'b' batch size does not match other inputs for 'm'",
  },
  {
    name: "too large a batch",
    request: request([tensor("a", "INT32", [9, 16]), tensor("b", "FP32", [9, 3, 2])]),
    message: "[request id: 7] inference request batch-size must be <= 8 for 'm'",
  },
  {
    name: "another datatype",
    request: request([tensor("a", "FP32", [2, 16]), b]),
    message: "[request id: 7] inference input 'a' data-type is 'FP32', but model 'm' expects 'INT32'",
  },
  {
    name: "another size",
    request: request([tensor("a", "INT32", [1, 8]), tensor("b", "FP32", [1, 3, 2])]),
    message:
      "[request id: 7] unexpected shape for input 'a' for model 'm'. Expected [-1,16], got [1,8]. NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. See the model configuration docs for more info on max_batch_size.",
  },
  {
    name: "another rank of a model without batching",
    model: plain,
    request: request([tensor("a", "INT32", [1, 16]), tensor("b", "FP32", [3, 2])]),
    message: "[request id: 7] unexpected shape for input 'a' for model 'm'. Expected [16], got [1,16]. ",
  },
  {
    name: "an open dimension",
    request: request([a, tensor("b", "FP32", [2, -1, 2])]),
    message:
      "[request id: 7] All input dimensions should be specified for input 'b' for model 'm', got [2,-1,2]",
  },
  {
    name: "a fraction of a dimension",
    request: request([a, tensor("b", "FP32", [2, 1.5, 2])]),
    message:
      "[request id: 7] All input dimensions should be specified for input 'b' for model 'm', got [2,1.5,2]",
  },
  {
    name: "too few bytes",
    request: request([a, tensor("b", "FP32", [2, 3, 2], 44)]),
    message: "[request id: 7] input byte size mismatch for input 'b' for model 'm'. Expected 48, got 44",
  },
  {
    name: "too many bytes",
    request: request([a, tensor("b", "FP32", [2, 0, 2], 4)]),
    message: "[request id: 7] input byte size mismatch for input 'b' for model 'm'. Expected 0, got 4",
  },
  {
    name: "a batch of no rows",
    request: request([tensor("a", "INT32", [0, 16]), tensor("b", "FP32", [0, 3, 2])]),
    message: "[request id: 7] input byte size mismatch for input 'a' for model 'm'. Expected 64, got 0",
  },
  {
    name: "content for a batch of no rows",
    request: request([tensor("a", "INT32", [0, 16], 64), tensor("b", "FP32", [0, 3, 2], 24)]),
    message: "[request id: 7] input byte size mismatch for input 'a' for model 'm'. Expected 0, got 64",
  },
  {
    name: "too few strings",
    model: strings,
    request: request([text([1, 2], [1, 0, 0, 0, 65])]),
    message: "[request id: 7] expected 2 string elements for inference input 's' for model 'm', got 1",
  },
  {
    name: "too many strings",
    model: strings,
    request: request([text([1, 1], [0, 0, 0, 0, 1, 0, 0, 0, 65])]),
    message:
      "[request id: 7] unexpected number of string elements 2 for inference input 's' for model 'm', expecting 1",
  },
  {
    name: "a cut length",
    model: strings,
    request: request([text([1, 2], [1, 0, 0, 0, 65, 1, 0])]),
    message:
      "[request id: 7] incomplete string length indicator for inference input 's' for model 'm', expecting 4 bytes but only 2 bytes available. Please make sure the string length indicator is in one buffer.",
  },
  {
    name: "a cut string",
    model: strings,
    request: request([text([1, 1], [3, 0, 0, 0, 65, 66])]),
    message:
      "incomplete string data for inference input 's', expecting string of length 3 but only 2 bytes available",
  },
  {
    name: "a length of 4 GiB",
    model: strings,
    request: request([text([1, 1], [255, 255, 255, 255])]),
    message:
      "incomplete string data for inference input 's', expecting string of length 4294967295 but only 0 bytes available",
  },
  {
    name: "a size beyond 2^53 where another one is expected",
    model: plain,
    request: request([vast("a", "INT32", [9007199254740993n]), tensor("b", "FP32", [1, 2])]),
    message:
      "[request id: 7] unexpected shape for input 'a' for model 'm'. Expected [16], got [9007199254740993]. ",
  },
  {
    name: "content that is less than a size beyond 2^53 says",
    model: open,
    request: request([vast("e", "INT32", [1n, 9007199254740993n])]),
    message:
      "[request id: 7] input byte size mismatch for input 'e' for model 'm'. Expected 36028797018963972, got 0",
  },
  {
    name: "content that is less than many sizes say",
    model: open,
    request: request([tensor("e", "INT32", [4503599627370497, 3], 4)]),
    message:
      "[request id: 7] input byte size mismatch for input 'e' for model 'm'. Expected 54043195528445964, got 4",
  },
  {
    name: "fewer strings than a size beyond 2^53 says",
    model: strings,
    request: request([vast("s", "BYTES", [1n, 9007199254740993n])]),
    message:
      "[request id: 7] expected 9007199254740993 string elements for inference input 's' for model 'm', got 0",
  },
  {
    name: "an empty tensor with a size that no number can hold",
    model: open,
    request: request([vast("e", "INT32", [0n, 9223372036854775807n])]),
    message:
      "[request id: 7] shape [0,9223372036854775807] of input 'e' for model 'm' has a dimension beyond " +
      "9007199254740991, the largest one here",
  },
];

describe("validateRequest", () => {
  it.each(REFUSED)("refuses $name", ({ model = batching, request, message }) => {
    expect(() => validateRequest(request, { name: "m", signature: model })).toThrow(
      expect.objectContaining({ name: "InferenceError", code: "INVALID_ARG", message }),
    );
  });

  it("brings inputs into the model's order and asks for all outputs", () => {
    const valid = validateRequest(request([b, a]), { name: "m", signature: batching });
    expect(valid).toEqual({
      id: "7",
      inputs: [a, b],
      outputs: ["x", "y"],
      batchSize: 2,
      parameters: {},
      priority: 0,
      timeoutUs: 0,
    });
    expect(valid.inputs[0]).toBe(a);
  });

  it("keeps what the request says about itself", () => {
    const sequence = { id: 5n, start: true, end: false };
    const valid = validateRequest(
      request([a, b], {
        parameters: { p: 1n },
        sequence,
        priority: 2,
        timeoutUs: 9,
        outputs: [{ name: "y", classCount: 3 }, { name: "x" }],
      }),
      { name: "m", signature: batching },
    );
    expect(valid).toMatchObject({
      parameters: { p: 1n },
      sequence,
      priority: 2,
      timeoutUs: 9,
      outputs: ["y", "x"],
    });
  });

  it("takes whole shapes of a model without batching", () => {
    const inputs = [tensor("a", "INT32", [16]), tensor("b", "FP32", [0, 2])];
    expect(validateRequest(request(inputs), { name: "m", signature: plain })).toMatchObject({
      batchSize: 0,
      inputs,
    });
  });

  it("takes a batch of no rows only where a row has no bytes either", () => {
    const model = signature(`
      max_batch_size: 8
      input { name: "b" data_type: TYPE_FP32 dims: [-1, 2] }
      output { name: "x" data_type: TYPE_INT32 dims: [1] }`);
    const inputs = [tensor("b", "FP32", [0, 0, 2])];
    expect(validateRequest(request(inputs), { name: "m", signature: model })).toMatchObject({
      batchSize: 0,
      inputs,
    });
  });

  it("takes an empty tensor with any size that a number holds", () => {
    const empty = tensor("e", "INT32", [0, Number.MAX_SAFE_INTEGER]);
    expect(validateRequest(request([empty]), { name: "m", signature: open }).inputs).toEqual([empty]);
  });

  it("takes a request without an optional input", () => {
    const input = tensor("a", "INT32", [1, 1]);
    expect(validateRequest(request([input]), { name: "m", signature: optional }).inputs).toEqual([input]);
  });

  it("counts strings, empty ones too", () => {
    const input = text([2, 1], [0, 0, 0, 0, 2, 0, 0, 0, 65, 66]);
    expect(validateRequest(request([input]), { name: "m", signature: strings }).inputs).toEqual([input]);
    expect(validateRequest(request([text([1, 0], [])]), { name: "m", signature: strings }).batchSize).toBe(1);
  });

  it("reads strings that lie in the middle of a body", () => {
    const body = Uint8Array.from([9, 9, 9, 1, 0, 0, 0, 65, 9]);
    const input = { ...text([1, 1], []), bytes: body.subarray(3, 8) };
    expect(validateRequest(request([input]), { name: "m", signature: strings }).batchSize).toBe(1);
  });

  it("trusts a tensor that stayed on a device", () => {
    const device: Tensor = {
      kind: "device",
      name: "a",
      datatype: "INT32",
      shape: [2, 16],
      worker: "w",
      handle: 1,
    };
    expect(validateRequest(request([device, b]), { name: "m", signature: batching }).inputs[0]).toBe(device);
  });

  it.each([
    { reshape: "reshape { shape: [ ] }", dims: "1", sent: [3, 1], seen: [3] },
    { reshape: "reshape { shape: [4, -1, -1] }", dims: "-1, 4, -1", sent: [3, 5, 4, 6], seen: [3, 4, 5, 6] },
    { reshape: "reshape { shape: [2, 8] }", dims: "16", sent: [3, 16], seen: [3, 2, 8] },
  ])("reshapes [$dims] by $reshape", ({ reshape, dims, sent, seen }) => {
    const model = signature(`
      max_batch_size: 8
      input { name: "a" data_type: TYPE_INT32 dims: [${dims}] ${reshape} }
      output { name: "x" data_type: TYPE_INT32 dims: [1] }`);
    const input = tensor("a", "INT32", sent);
    const [reshaped] = validateRequest(request([input]), { name: "m", signature: model }).inputs;
    expect(reshaped).toEqual({ ...input, shape: seen });
    expect(reshaped).toHaveProperty("bytes", input.bytes);
  });
});
