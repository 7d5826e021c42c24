import { describe, expect, it } from "vitest";
import { decode, withData, withParameters } from "../test/infer-bodies.ts";
import { bytesOf, decodeStringElements, typedElements } from "./elements.ts";
import type { Tensor } from "./tensor.ts";

function bytes(tensor: Tensor | undefined): Uint8Array {
  if (tensor?.kind !== "bytes") throw new Error("no bytes");
  return tensor.bytes;
}

describe("decodeInferRequest, JSON data", () => {
  it.each<[string, string, string, ArrayBufferView]>([
    ["BOOL", "[3]", "[true,false,true]", Uint8Array.of(1, 0, 1)],
    ["INT8", "[3]", "[-1,127,200]", Int8Array.of(-1, 127, -56)],
    ["INT16", "[2]", "[-2,65535]", Int16Array.of(-2, -1)],
    ["INT32", "[2,2]", "[[1,2],[3,4294967297]]", Int32Array.of(1, 2, 3, 1)],
    [
      "INT64",
      "[3]",
      "[-9223372036854775808,9223372036854775807,-1]",
      BigInt64Array.of(-(2n ** 63n), 2n ** 63n - 1n, -1n),
    ],
    ["UINT8", "[2]", "[255,256]", Uint8Array.of(255, 0)],
    ["UINT16", "[1]", "[65535]", Uint16Array.of(65535)],
    ["UINT32", "[2]", "[4294967295,18446744073709551615]", Uint32Array.of(4294967295, 4294967295)],
    ["UINT64", "[2]", "[18446744073709551615,0]", BigUint64Array.of(2n ** 64n - 1n, 0n)],
    [
      "FP32",
      "[4]",
      "[0.1,NaN,-Inf,18446744073709551615]",
      Float32Array.of(0.1, NaN, -Infinity, 18446744073709551615),
    ],
    ["FP64", "[2]", "[1,[1e300]]", Float64Array.of(1, 1e300)],
    ["FP32", "[2,0]", "[1,2,3]", new Uint8Array(0)],
    ["FP32", "[]", "[7]", new Uint8Array(0)],
    ["FP16", "[0]", "[]", new Uint8Array(0)],
  ])("%s %s %s", (datatype, shape, data, expected) => {
    const [input] = decode({ json: withData(datatype, shape, data) }).request.inputs;
    expect(input).toMatchObject({ name: "x", datatype, shape: JSON.parse(shape) as unknown });
    expect(bytes(input)).toEqual(bytesOf(expected));
  });

  it("keeps strings as UTF-8 whatever the shape says", () => {
    const [input] = decode({ json: withData("BYTES", "[2]", '["ä",["","\\u0000\\ud83d\\ude00"]]') }).request
      .inputs;
    expect(decodeStringElements(bytes(input), "x")).toEqual(["ä", "", "\0\u{1f600}"]);
  });

  it.each(["INT8", "INT32", "INT64", "UINT16", "UINT64", "FP32", "FP64"] as const)(
    "reads a long %s array as it reads a short one",
    (datatype) => {
      const numbers = Array.from({ length: 100 }, (_, index) => index * 50_000_000_000);
      const long = decode({ json: withData(datatype, "[100]", JSON.stringify(numbers)) }).request.inputs;
      const nested = decode({ json: withData(datatype, "[100]", JSON.stringify([numbers])) }).request.inputs;
      const short = numbers.map((value) => {
        const [input] = decode({ json: withData(datatype, "[1]", `[${String(value)}]`) }).request.inputs;
        return typedElements(datatype, bytes(input))[0];
      });
      expect(Array.from<unknown>(typedElements(datatype, bytes(long[0])))).toEqual(short);
      expect(bytes(nested[0])).toEqual(bytes(long[0]));
    },
  );
});

describe("decodeInferRequest, sizes that a number cannot hold", () => {
  it("are kept exactly beside the rounded shape", () => {
    const vast = decode({ json: withData("FP32", "[0,9223372036854775807]", "[]") }).request.inputs[0];
    expect(vast).toMatchObject({ exactShape: [0n, 9223372036854775807n] });
    expect(bytes(vast)).toEqual(new Uint8Array(0));
    const texts = decode({ json: withData("BYTES", "[9007199254740993]", '["a"]') }).request.inputs[0];
    expect(texts).toMatchObject({ exactShape: [9007199254740993n] });
    const usual = decode({ json: withData("FP32", "[0,9007199254740991]", "[]") }).request.inputs[0];
    expect(usual).toMatchObject({ shape: [0, 9007199254740991] });
    expect(usual).not.toHaveProperty("exactShape");
  });
});

describe("decodeInferRequest, binary data", () => {
  it("views the body and mixes with JSON", () => {
    const { request } = decode({
      json: `{"inputs":[
        {"name":"a","shape":[2],"datatype":"UINT8","parameters":{"binary_data_size":2}},
        {"name":"b","shape":[1],"datatype":"INT32","data":[5]},
        {"name":"c","shape":[0],"datatype":"FP16","parameters":{"binary_data_size":0}},
        {"name":"d","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":5}}]}`,
      binary: [7, 8, 1, 0, 0, 0, 0x61],
    });
    const [a, b, c, d] = request.inputs.map(bytes);
    expect(a).toEqual(Uint8Array.of(7, 8));
    expect(b).toEqual(Uint8Array.of(5, 0, 0, 0));
    expect(c).toEqual(new Uint8Array(0));
    expect(d).toEqual(Uint8Array.of(1, 0, 0, 0, 0x61));
    expect(a?.buffer).toBe(d?.buffer);
  });
});

describe("decodeInferRequest, id, parameters and outputs", () => {
  it("reads what there is", () => {
    const { request, format } = decode({
      json: `{"id":"7","parameters":{"sequence_id":18446744073709551615,"sequence_start":true,"sequence_end":false,
        "priority":2,"timeout":1000,"binary_data_output":true,
        "s":"x","i":-5,"big":9223372036854775807,"b":false,"d":1.0,"huge":18446744073709551615},
        "inputs":[],"outputs":[{"name":"p"},{"name":"q","parameters":{"binary_data":true}},
        {"name":"r","parameters":{"classification":3,"binary_data":false}}]}`,
    });
    expect(request).toEqual({
      modelName: "m",
      modelVersion: "3",
      id: "7",
      parameters: {
        s: "x",
        i: -5n,
        big: 2n ** 63n - 1n,
        b: false,
        d: 1,
        huge: 2 ** 64,
      },
      sequence: { id: 2n ** 64n - 1n, start: true, end: false },
      priority: 2,
      timeoutUs: 1000,
      inputs: [],
      outputs: [{ name: "p" }, { name: "q" }, { name: "r", classCount: 3 }],
    });
    expect(format.default).toBe("binary");
    expect([...format.byName]).toEqual([
      ["p", "json"],
      ["q", "binary"],
      ["r", "json"],
    ]);
  });

  it("leaves out what says nothing", () => {
    const { request, format } = decode({
      json: withParameters('{"sequence_id":0,"priority":0,"timeout":0}'),
    });
    expect(request).toEqual({
      modelName: "m",
      modelVersion: "3",
      id: "",
      parameters: {},
      inputs: [],
      outputs: [],
    });
    expect(format.default).toBe("json");
  });

  it("takes a string for a sequence id", () => {
    expect(decode({ json: withParameters('{"sequence_id":"abc"}') }).request.sequence).toEqual({
      id: "abc",
      start: false,
      end: false,
    });
  });
});
