import { describe, expect, it } from "vitest";
import type { V2Datatype, V2Element, V2Tensor } from "./v2-tensor.ts";
import { elementsOf } from "./v2-tensor.ts";
import { binaryInferRequest, jsonInferRequest, readInferResponse } from "./v2-http.ts";

const encode = (text: string) => new TextEncoder().encode(text);

function answered(datatype: V2Datatype, data: string): readonly V2Element[] {
  const body = encode(`{"outputs":[{"name":"y","datatype":"${datatype}","shape":[-1],"data":${data}}]}`);
  const [output] = readInferResponse({ headers: [], body });
  return output === undefined ? [] : elementsOf(output);
}

describe("readInferResponse", () => {
  it("reads JSON as Triton writes it", () => {
    expect(answered("FP64", "[0.1234567890123456789,NaN,-Infinity,1e-300]")).toEqual([
      0.12345678901234568,
      NaN,
      -Infinity,
      1e-300,
    ]);
    expect(answered("INT64", "[-9223372036854775808,7]")).toEqual([-9223372036854775808n, 7n]);
    expect(answered("UINT64", "[18446744073709551615]")).toEqual([18446744073709551615n]);
    expect(answered("BOOL", "[true,false]")).toEqual([1, 0]);
    expect(answered("BYTES", '["NaN","12345678901234567890","\\"Infinity"]')).toEqual([
      "NaN",
      "12345678901234567890",
      '"Infinity',
    ]);
  });

  it("takes binary outputs from behind the JSON", () => {
    const output = (name: string, size: number) =>
      `{"name":"${name}","datatype":"INT8","shape":[${size}],"parameters":{"binary_data_size":${size}}}`;
    const head = encode(`{"outputs":[${output("a", 1)},${output("b", 2)}]}`);
    const headers = [["Inference-Header-Content-Length", String(head.length)]] as const;
    const read = (...bytes: number[]) =>
      readInferResponse({ headers, body: Uint8Array.from([...head, ...bytes]) }).map(elementsOf);
    expect(read(1, 2, 255)).toEqual([[1], [2, -1]]);
    expect(() => read(1, 2, 3, 4)).toThrow("longer than its outputs");
  });
});

describe("requests", () => {
  const half: V2Tensor = { name: "x", datatype: "FP16", shape: [1], bytes: Uint8Array.of(0, 60) };
  const int: V2Tensor = {
    name: "x",
    datatype: "INT64",
    shape: [1],
    bytes: new Uint8Array(BigInt64Array.of(2n ** 60n).buffer),
  };

  it("carry everything in binary and all but FP16 in JSON", () => {
    const { headers, body } = binaryInferRequest([half]);
    expect(body.subarray(Number(headers[0]?.[1]))).toEqual(Uint8Array.of(0, 60));
    expect(jsonInferRequest([half])).toBeUndefined();
    expect(new TextDecoder().decode(jsonInferRequest([int])?.body)).toBe(
      '{"inputs":[{"name":"x","datatype":"INT64","shape":[1],"data":[1152921504606846976]}]}',
    );
  });
});
