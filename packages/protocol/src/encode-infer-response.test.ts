import { describe, expect, it } from "vitest";
import { bytesOf, encodeBytesElements } from "./elements.ts";
import { encodeInferResponse } from "./encode-infer-response.ts";
import type { InferenceResponse } from "./messages.ts";
import { InferenceError } from "./status.ts";
import type { BytesTensor } from "./tensor.ts";
import { allTensors } from "./tensor-transfers.ts";

const RESPONSE: InferenceResponse = {
  modelName: "m",
  modelVersion: "1",
  id: "",
  parameters: {},
  outputs: [],
};

function tensor(
  datatype: BytesTensor["datatype"],
  shape: readonly number[],
  view: ArrayBufferView,
): BytesTensor {
  return { kind: "bytes", name: "y", datatype, shape, bytes: bytesOf(view) };
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

describe("encodeInferResponse", () => {
  it("writes id and parameters only where there are any", () => {
    expect(text(encodeInferResponse(RESPONSE, allTensors("json")).body)).toBe(
      '{"model_name":"m","model_version":"1","outputs":[]}',
    );
    const parameters = { s: 'a"b', i: 5n, d: 2, b: true };
    expect(text(encodeInferResponse({ ...RESPONSE, id: "7", parameters }, allTensors("json")).body)).toBe(
      '{"id":"7","model_name":"m","model_version":"1","parameters":{"s":"a\\"b","i":5,"d":2.0,"b":true},"outputs":[]}',
    );
  });

  it.each<[BytesTensor, string]>([
    [tensor("BOOL", [3], Uint8Array.of(1, 0, 2)), "true,false,true"],
    [tensor("INT8", [2], Int8Array.of(-128, 127)), "-128,127"],
    [tensor("UINT8", [2], Uint8Array.of(0, 255)), "0,255"],
    [tensor("INT16", [2], Int16Array.of(-32768, 9)), "-32768,9"],
    [tensor("UINT16", [1], Uint16Array.of(65535)), "65535"],
    [
      tensor("INT32", [4], Int32Array.of(-2147483648, 2147483647, 10, -100)),
      "-2147483648,2147483647,10,-100",
    ],
    [tensor("UINT32", [2], Uint32Array.of(4294967295, 1000000000)), "4294967295,1000000000"],
    [tensor("INT64", [2], BigInt64Array.of(-(2n ** 63n), 1n)), "-9223372036854775808,1"],
    [tensor("UINT64", [1], BigUint64Array.of(2n ** 64n - 1n)), "18446744073709551615"],
    [tensor("FP32", [2], Float32Array.of(0.1, 0.5)), "0.10000000149011612,0.5"],
    [tensor("FP32", [3], Float32Array.of(1, -20, 0)), "1.0,-20.0,0.0"],
    [
      tensor("FP32", [6], Float32Array.of(1, 0.5, NaN, -0, Infinity, -Infinity)),
      "1.0,0.5,NaN,-0.0,Infinity,-Infinity",
    ],
    [tensor("FP32", [1], Float32Array.of(NaN)), "NaN"],
    [tensor("FP32", [2], Float32Array.of(-0, 1)), "-0.0,1.0"],
    [
      tensor("FP64", [5], Float64Array.of(1e21, 1e20, 1e-7, 123456789012, 1.5e300)),
      "1e21,100000000000000000000.0,1e-7,123456789012.0,1.5e300",
    ],
    [tensor("FP32", [2, 0], new Uint8Array(0)), ""],
    [
      tensor("BYTES", [3], encodeBytesElements(["ä\n", "", Uint8Array.of(0x61, 0xff)])),
      '"ä\\n","","a\ufffd"',
    ],
  ])("writes content %#", (output, data) => {
    const { body, headerLength, binaryLength } = encodeInferResponse(
      { ...RESPONSE, outputs: [output] },
      allTensors("json"),
    );
    expect(text(body)).toBe(
      `{"model_name":"m","model_version":"1","outputs":[{"name":"y","datatype":"${output.datatype}",` +
        `"shape":[${output.shape.join(",")}],"data":[${data}]}]}`,
    );
    expect([headerLength, binaryLength]).toEqual([body.length, 0]);
  });

  it("writes long tensors like short ones", () => {
    const values = Float32Array.from({ length: 10_000 }, (_, index) =>
      index % 7 === 0 ? index : Math.sin(index) * 10 ** ((index % 60) - 30),
    );
    for (const elements of [values, values.map((value) => value + 0.1), values.map(Math.trunc)]) {
      const output = tensor("FP32", [elements.length], elements);
      const { body } = encodeInferResponse({ ...RESPONSE, outputs: [output] }, allTensors("json"));
      const parsed = JSON.parse(text(body)) as { outputs: [{ data: number[] }] };
      expect(Float32Array.from(parsed.outputs[0].data)).toEqual(elements);
      const [, data = ""] = /"data":\[(.*)\]\}\]\}/.exec(text(body)) ?? [];
      expect(data.split(",").filter((number) => !/[.e]/.test(number))).toEqual([]);
    }
  });

  it("puts binary outputs behind the JSON in their order", () => {
    const outputs = [
      { ...tensor("INT32", [1], Int32Array.of(5)), name: "a" },
      { ...tensor("FP16", [1], Uint16Array.of(0x3c00)), name: "b" },
      { ...tensor("INT8", [1], Int8Array.of(3)), name: "c" },
    ];
    const { body, headerLength, binaryLength } = encodeInferResponse(
      { ...RESPONSE, outputs },
      { default: "binary", byName: new Map([["c", "json"]]) },
    );
    expect(text(body.subarray(0, headerLength))).toBe(
      '{"model_name":"m","model_version":"1","outputs":[' +
        '{"name":"a","datatype":"INT32","shape":[1],"parameters":{"binary_data_size":4}},' +
        '{"name":"b","datatype":"FP16","shape":[1],"parameters":{"binary_data_size":2}},' +
        '{"name":"c","datatype":"INT8","shape":[1],"data":[3]}]}',
    );
    expect(Array.from(body.subarray(headerLength))).toEqual([5, 0, 0, 0, 0, 0x3c]);
    expect(binaryLength).toBe(6);
    expect(body.buffer.byteLength).toBe(body.length);
  });

  it.each(["FP16", "BF16"] as const)("does not write %s as JSON", (datatype) => {
    const output = tensor(datatype, [1], Uint16Array.of(1));
    expect(() => encodeInferResponse({ ...RESPONSE, outputs: [output] }, allTensors("json"))).toThrow(
      new InferenceError(
        "INVALID_ARG",
        `sending ${datatype} data via JSON is not supported. Please use the binary data format for output y`,
      ),
    );
  });

  it.each([
    tensor("FP32", [2], Float32Array.of(1)),
    tensor("BYTES", [2], encodeBytesElements(["a"])),
    tensor("BYTES", [1], Uint8Array.of(9, 0, 0, 0)),
  ])("refuses content %# that does not fit the shape", (output) => {
    expect(() => encodeInferResponse({ ...RESPONSE, outputs: [output] }, allTensors("json"))).toThrow(
      new InferenceError("INTERNAL", "output tensor shape does not match size of output for 'y'"),
    );
  });

  it("never sees a tensor on a device", () => {
    const output = {
      kind: "device",
      name: "y",
      datatype: "FP32",
      shape: [1],
      worker: "w",
      handle: 1,
    } as const;
    expect(() => encodeInferResponse({ ...RESPONSE, outputs: [output] }, allTensors("json"))).toThrow(
      "tensor 'y' is still on a device",
    );
  });
});
