import type { Tensor } from "@naiad/protocol";
import { expect, it } from "vitest";
import { adjustBatch } from "./adjust-batch.ts";

const shaped = (shape: readonly number[]): Tensor => ({
  kind: "bytes",
  name: "t",
  datatype: "FP32",
  shape,
  bytes: new Uint8Array(0),
});

interface Case {
  readonly what: string;
  /** Of the tensor. */
  readonly shape: readonly number[];
  readonly batchSize: number;
  readonly dims: readonly number[];
  readonly batches: boolean;
  readonly becomes: readonly number[];
}

it.each<Case>([
  { what: "both batch", shape: [2, 4], batchSize: 2, dims: [4], batches: true, becomes: [2, 4] },
  { what: "neither batches", shape: [4], batchSize: 0, dims: [4], batches: false, becomes: [4] },
  { what: "only the reader batches", shape: [4], batchSize: 0, dims: [4], batches: true, becomes: [1, 4] },
  {
    what: "only the reader batches, any size",
    shape: [7],
    batchSize: 0,
    dims: [-1],
    batches: true,
    becomes: [1, 7],
  },
  {
    what: "the batch is there as a dimension",
    shape: [3, 4],
    batchSize: 0,
    dims: [4],
    batches: true,
    becomes: [3, 4],
  },
  { what: "only the writer batches", shape: [1, 4], batchSize: 1, dims: [4], batches: false, becomes: [4] },
  {
    what: "the reader has a dimension for it",
    shape: [1, 4],
    batchSize: 1,
    dims: [-1, 4],
    batches: false,
    becomes: [1, 4],
  },
  { what: "more than one row", shape: [2, 4], batchSize: 2, dims: [4], batches: false, becomes: [2, 4] },
  {
    what: "only the writer batches, one of several rows",
    shape: [1, 4],
    batchSize: 3,
    dims: [4],
    batches: false,
    becomes: [4],
  },
  { what: "several rows for one", shape: [3, 4], batchSize: 1, dims: [4], batches: false, becomes: [3, 4] },
  { what: "nothing fits", shape: [5], batchSize: 0, dims: [4], batches: true, becomes: [5] },
  { what: "a scalar in a batch", shape: [1], batchSize: 1, dims: [], batches: false, becomes: [] },
])("$what: $shape becomes $becomes", ({ shape, batchSize, dims, batches, becomes }) => {
  expect(adjustBatch(shaped(shape), batchSize, { dims, batches }).shape).toEqual(becomes);
});

it("leaves the bytes where they are", () => {
  const tensor = shaped([4]);
  const adjusted = adjustBatch(tensor, 0, { dims: [4], batches: true });
  expect(adjusted).toMatchObject({ kind: "bytes", shape: [1, 4] });
  expect(adjusted.kind === "bytes" && tensor.kind === "bytes" && adjusted.bytes === tensor.bytes).toBe(true);
});
