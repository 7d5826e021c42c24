import type { BytesTensor } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { reshapeTensor } from "./reshape.ts";

const tensor = (shape: readonly number[]): BytesTensor => ({
  kind: "bytes",
  name: "t",
  datatype: "INT8",
  shape,
  bytes: new Uint8Array(shape.reduce((product, dim) => product * dim, 1)),
});

describe("reshapeTensor", () => {
  it.each([
    {
      why: "merges fixed dimensions",
      shape: [2, 2, 3],
      from: [2, 3],
      to: [6],
      batches: true,
      expected: [2, 6],
    },
    { why: "splits them", shape: [4, 4], from: [4], to: [2, 2], batches: true, expected: [4, 2, 2] },
    { why: "adds what makes a scalar a row", shape: [5], from: [], to: [1], batches: true, expected: [5, 1] },
    { why: "takes it away", shape: [5, 1], from: [1], to: [], batches: true, expected: [5] },
    {
      why: "carries variable dimensions over in order",
      shape: [3, 7, 4, 9],
      from: [-1, 4, -1],
      to: [2, -1, 2, -1],
      batches: true,
      expected: [3, 2, 7, 2, 9],
    },
    { why: "keeps an empty batch", shape: [0, 4], from: [4], to: [2, 2], batches: true, expected: [0, 2, 2] },
    { why: "has no batch to keep", shape: [4], from: [4], to: [1, 4], batches: false, expected: [1, 4] },
  ])("$why", ({ shape, from, to, batches, expected }) => {
    const before = tensor(shape);
    const after = reshapeTensor(before, { from, to, batches });
    expect(after.shape).toEqual(expected);
    expect(after).toMatchObject({ name: "t", datatype: "INT8", bytes: before.bytes });
  });
});
