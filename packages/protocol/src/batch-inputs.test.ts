import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BatchInputKind } from "./batch-inputs.ts";
import { batchInputTensor } from "./batch-inputs.ts";
import { typedElements } from "./elements.ts";
import { elementCount } from "./tensor.ts";

const KINDS: readonly BatchInputKind[] = [
  "BATCH_ELEMENT_COUNT",
  "BATCH_ACCUMULATED_ELEMENT_COUNT",
  "BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO",
  "BATCH_MAX_ELEMENT_COUNT_AS_SHAPE",
  "BATCH_ITEM_SHAPE",
  "BATCH_ITEM_SHAPE_FLATTEN",
];

function int32(
  kind: BatchInputKind,
  shapes: readonly (readonly number[])[],
): readonly [readonly number[], readonly number[]] {
  const { shape, bytes } = batchInputTensor({ name: "b", kind, datatype: "INT32" }, shapes);
  return [shape, [...typedElements("INT32", bytes)]];
}

describe("a batch input", () => {
  const three = [
    [1, 3],
    [1, 4],
    [1, 1],
  ];

  it.each([
    ["BATCH_ELEMENT_COUNT", three, [3], [3, 4, 1]],
    ["BATCH_ACCUMULATED_ELEMENT_COUNT", three, [3], [3, 7, 8]],
    ["BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO", three, [4], [0, 3, 7, 8]],
    ["BATCH_MAX_ELEMENT_COUNT_AS_SHAPE", three, [4], [0, 0, 0, 0]],
    ["BATCH_ITEM_SHAPE", three, [3, 1], [3, 4, 1]],
    ["BATCH_ITEM_SHAPE_FLATTEN", three, [3], [3, 4, 1]],
    // Elements are counted over all rows of a request, shapes once for each.
    ["BATCH_ELEMENT_COUNT", [[2, 3, 4]], [1], [24]],
    [
      "BATCH_ITEM_SHAPE",
      [
        [2, 3, 4],
        [1, 5, 6],
      ],
      [3, 2],
      [3, 4, 3, 4, 5, 6],
    ],
    [
      "BATCH_ITEM_SHAPE_FLATTEN",
      [
        [2, 3, 4],
        [1, 5, 6],
      ],
      [6],
      [3, 4, 3, 4, 5, 6],
    ],
    ["BATCH_MAX_ELEMENT_COUNT_AS_SHAPE", [[1, 0]], [0], []],
  ] as const)("%s of %j", (kind, shapes, shape, values) => {
    expect(int32(kind, shapes)).toEqual([shape, values]);
  });

  it.each(KINDS)("%s has as many values as its shape says, in either type", (kind) => {
    const shapes = fc.array(fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 5 }), fc.nat({ max: 5 })), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(shapes, (all) => {
        const integers = batchInputTensor({ name: "b", kind, datatype: "INT32" }, all);
        const floats = batchInputTensor({ name: "b", kind, datatype: "FP32" }, all);
        expect(floats.shape).toEqual(integers.shape);
        const values = [...typedElements("INT32", integers.bytes)];
        expect([...typedElements("FP32", floats.bytes)]).toEqual(values);
        expect(values).toHaveLength(elementCount(integers.shape));
      }),
      { seed: 38, numRuns: 100 },
    );
  });

  it("that counts up ends with the number of all elements", () => {
    const [, ends] = int32("BATCH_ACCUMULATED_ELEMENT_COUNT", three);
    expect(ends.at(-1)).toBe(three.reduce((sum, shape) => sum + elementCount(shape), 0));
  });
});
