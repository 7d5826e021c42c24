import { describe, expect, it } from "vitest";
import { Tensor } from "./tensor.ts";

describe("a model's tensor", () => {
  it("is a view on the typed array that it was made of", () => {
    const data = Float32Array.of(1, 2, 3, 4);
    const tensor = new Tensor("A", data, [2, 2]);
    data[0] = 7;
    expect([tensor.name, tensor.datatype, tensor.shape, [...tensor.as("FP32")]]).toEqual([
      "A",
      "FP32",
      [2, 2],
      [7, 2, 3, 4],
    ]);
  });

  it("is made of nested values too, texts and 16-bit floats among them", () => {
    expect(new Tensor("A", [["a"], ["ß"]]).data).toEqual(["a", "ß"]);
    expect(new Tensor("A", [["a"], ["ß"]]).shape).toEqual([2, 1]);
    expect([...new Tensor("A", [1.5, -2], undefined, "FP16").as("FP16")]).toEqual([1.5, -2]);
    expect([...new Tensor("A", Float32Array.of(1.5), [1], "BF16").as("BF16")]).toEqual([1.5]);
    expect([...new Tensor("A", [true, false]).as("BOOL")]).toEqual([1, 0]);
    expect([...new Tensor("A", [1n]).as("INT64")]).toEqual([1n]);
  });

  it("gives the exact bytes of BYTES elements", () => {
    const tensor = new Tensor("A", [Uint8Array.of(255, 0)]);
    expect(tensor.elements).toEqual([Uint8Array.of(255, 0)]);
    expect(tensor.data).toEqual(["\ufffd\0"]);
  });

  it("takes content as it travels", () => {
    const bytes = new Uint8Array(Int32Array.of(5, 6).buffer);
    expect([...Tensor.fromBytes("A", "INT32", [2], bytes).as("INT32")]).toEqual([5, 6]);
    expect(() => Tensor.fromBytes("A", "INT32", [3], bytes)).toThrow(
      "got 8 bytes for tensor 'A', expected 12 for INT32 of shape [3]",
    );
  });

  it("refuses what does not fit", () => {
    expect(() => new Tensor("A", Float32Array.of(1), [2])).toThrow(
      "got 1 elements for tensor 'A', expected 2 for shape [2]",
    );
    expect(() => new Tensor("A", [1])).toThrow("tensor 'A' needs a datatype");
    expect(() => new Tensor("A", Float32Array.of(1)).as("INT8")).toThrow("tensor 'A' is FP32, not INT8");
    expect(() => new Tensor("A", Float32Array.of(1)).elements).toThrow("tensor 'A' is FP32, not BYTES");
  });
});
