import { describe, expect, it } from "vitest";
import { batchSignature } from "./batch-signature.ts";
import { parseConfigText } from "./text.ts";

describe("batchSignature", () => {
  it("is empty for a model that batches row by row", () => {
    const config = parseConfigText('input { name: "x" } output { name: "y" }', { fileName: "" });
    expect(batchSignature(config)).toEqual({
      raggedInputs: new Set(),
      batchInputs: [],
      batchOutputs: new Map(),
    });
  });

  it("names what is ragged, what the batch itself tells, and what is split by an input", () => {
    const config = parseConfigText(
      `input [ { name: "x" allow_ragged_batch: true }, { name: "n" } ]
       batch_input [
         { kind: BATCH_ITEM_SHAPE target_name: ["s", "t"] data_type: TYPE_FP32 source_input: "x" },
         { target_name: "c" data_type: TYPE_INT32 source_input: "n" }
       ]
       batch_output { target_name: ["y", "z"] source_input: "x" }`,
      { fileName: "" },
    );
    expect(batchSignature(config)).toEqual({
      raggedInputs: new Set(["x"]),
      batchInputs: [
        { name: "s", kind: "BATCH_ITEM_SHAPE", datatype: "FP32", sourceInput: "x" },
        { name: "t", kind: "BATCH_ITEM_SHAPE", datatype: "FP32", sourceInput: "x" },
        { name: "c", kind: "BATCH_ELEMENT_COUNT", datatype: "INT32", sourceInput: "n" },
      ],
      batchOutputs: new Map([
        ["y", "x"],
        ["z", "x"],
      ]),
    });
  });
});
