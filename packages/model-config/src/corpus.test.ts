import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { byteSourceOf, ModelConfigSchema, readConfigText, readOnnxModel } from "./index.ts";
import { findTextFaults } from "./text-position.ts";

// Triton's own configurations, and small models. The folder is not part of the repository. What these texts mean, and what
// Triton says to them, `npm run conformance` holds against the whole server.
const folder = process.env["NAIAD_TEST_DATA"];
const note = folder === undefined ? " (left out: NAIAD_TEST_DATA names no folder with model-configs/)" : "";
const corpus = join(folder ?? "", "model-configs");
const filesIn = (path: string): readonly string[] =>
  folder === undefined ? [] : readdirSync(join(corpus, path));

describe.skipIf(folder === undefined)(`texts of Triton's repositories${note}`, () => {
  const names = filesIn("pbtxt");

  it("with one damaged byte are read or refused at a line and column", () => {
    const random = seededRandom(20261129);
    let refused = 0;
    for (const name of names) {
      const original = readFileSync(join(corpus, "pbtxt", name));
      for (let round = 0; round < 10 && original.length > 0; round += 1) {
        const bytes = Buffer.from(original);
        bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
        const damaged = bytes.toString("utf8");
        const result = readConfigText(damaged);
        const isReadable = findTextFaults(ModelConfigSchema, damaged).length === 0;
        expect({ name, damaged, isReadable }).toEqual({
          name,
          damaged,
          isReadable: result.kind === "config",
        });
        if (result.kind === "config") continue;
        refused += 1;
        const { line, column } = result.fault;
        const length = damaged.split("\n")[line - 1]?.length ?? -1;
        expect(column).toBeGreaterThanOrEqual(1);
        expect(column).toBeLessThanOrEqual(length + 1);
      }
    }
    expect(refused).toBeGreaterThan(700);
  });
});

describe.skipIf(folder === undefined)(`models${note}`, () => {
  const model = (name: string) =>
    readOnnxModel(byteSourceOf(readFileSync(join(folder ?? "", "models", name))));
  const tensor = (name: string, elementType: number, ...shape: readonly (number | string | undefined)[]) => ({
    name,
    type: { kind: "tensor", elementType, shape },
  });

  it("are read with symbolic, fixed and scalar shapes", async () => {
    expect(await model("mnist.onnx")).toMatchObject({
      inputs: [tensor("Input3", 1, 1, 1, 28, 28)],
      outputs: [tensor("Plus214_Output_0", 1, 1, 10)],
      externalFiles: [],
    });
    expect(await model("stories260K/stories260K_stacked.onnx")).toMatchObject({
      inputs: [tensor("input_ids", 7, "batch", "seq"), tensor("past", 1, 10, "batch", 4, "past_len", 8)],
      outputs: [
        tensor("logits", 1, "batch", "seq", 512),
        tensor("present", 1, 10, "batch", 4, "total_len", 8),
      ],
    });
    expect((await model("mobilenet_v2_1.0_224_quant.onnx")).inputs).toEqual([
      tensor("image", 2, "N", 224, 224, 3),
    ]);
    expect((await model("afinn_sentiment.onnx")).inputs).toEqual([tensor("text", 8, "N")]);
  });

  it("are read without their weights", async () => {
    const bytes = readFileSync(join(folder ?? "", "models", "mobilenet_v2_1.0_224_quant.onnx"));
    let bytesRead = 0;
    await readOnnxModel({
      size: bytes.byteLength,
      read: (offset, length) => {
        bytesRead += length;
        return Promise.resolve(bytes.subarray(offset, offset + length));
      },
    });
    expect(bytesRead).toBeLessThan(bytes.byteLength / 2);
  });
});

function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
