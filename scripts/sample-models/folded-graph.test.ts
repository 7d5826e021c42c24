import { ElementType, onnxModel, value } from "@naiad/testing/fixture-models";
import { InferenceSession, Tensor } from "onnxruntime-web";
import { describe, expect, it } from "vitest";
import type { Convolution } from "./folded-graph.ts";
import { createFoldedGraph } from "./folded-graph.ts";

const vector = (...values: readonly number[]): { shape: number[]; values: Float32Array<ArrayBuffer> } => ({
  shape: [values.length],
  values: Float32Array.from(values),
});

const NORMALIZATION = {
  "n.weight": vector(2, 0.5),
  "n.bias": vector(-1, 3),
  "n.running_mean": vector(0.5, -2),
  "n.running_var": vector(4, 0.25),
};

/** What a network of one convolution makes of one picture of one channel. */
async function run(
  kernelValues: readonly number[],
  picture: readonly (readonly number[])[],
  convolution: Pick<Convolution, "kernel" | "stride" | "activation">,
): Promise<readonly number[]> {
  const { kernel } = convolution;
  const weights = { shape: [2, 1, kernel, kernel], values: Float32Array.from(kernelValues) };
  const graph = createFoldedGraph(new Map(Object.entries({ ...NORMALIZATION, "w.weight": weights })));
  const result = graph.convolution({ input: "x", weights: "w", normalization: "n", ...convolution });
  const model = onnxModel({
    name: "one",
    node: graph.nodes,
    initializer: graph.initializers,
    input: [value("x", ElementType.FLOAT, [1, 1, picture.length, picture.length])],
    output: [value(result, ElementType.FLOAT, [1, 2, null, null])],
  });
  const session = await InferenceSession.create(model as Uint8Array<ArrayBuffer>);
  const x = new Tensor("float32", Float32Array.from(picture.flat()), [1, 1, picture.length, picture.length]);
  const outputs = await session.run({ x });
  await session.release();
  return [...(outputs[result]?.data as Float32Array)];
}

function expectClose(actual: readonly number[], expected: readonly number[]): void {
  expect(actual).toHaveLength(expected.length);
  actual.forEach((each, index) => expect(each).toBeCloseTo(expected[index] ?? NaN, 1));
}

describe("a convolution of the folded graph", () => {
  it("does what convolution and normalisation do one after the other", async () => {
    const normalized = (channel: 0 | 1, sum: number): number => {
      const read = (name: keyof typeof NORMALIZATION): number => NORMALIZATION[name].values[channel] ?? NaN;
      const deviation = Math.sqrt(read("n.running_var") + 1e-3);
      return ((sum - read("n.running_mean")) / deviation) * read("n.weight") + read("n.bias");
    };
    const result = await run(
      [1.5, -0.7],
      [
        [1, 2],
        [-3, 0],
      ],
      { kernel: 1, activation: "none" },
    );
    const pixels = [1, 2, -3, 0];
    expectClose(result, [
      ...pixels.map((pixel) => normalized(0, 1.5 * pixel)),
      ...pixels.map((pixel) => normalized(1, -0.7 * pixel)),
    ]);
  });

  it("cuts off below 0 and above 6", async () => {
    const result = await run(
      [1, 1],
      [
        [100, -100],
        [-100, 100],
      ],
      { kernel: 1, activation: "relu6" },
    );
    expect(result).toEqual([6, 0, 0, 6, 6, 0, 0, 6]);
  });

  it("pads more at the end where the stride leaves an odd rest", async () => {
    // Only the kernel's first pixel counts, so the result is the picture itself where nothing stands before it.
    const corner = [1, ...Array.from({ length: 8 }, () => 0)];
    const picture = [
      [1, 2, 3, 4],
      [5, 6, 7, 8],
      [9, 10, 11, 12],
      [13, 14, 15, 16],
    ];
    const result = await run([...corner, ...corner], picture, { kernel: 3, stride: 2, activation: "none" });
    expectClose(
      result.slice(0, 4),
      [1, 3, 9, 11].map((pixel) => ((pixel - 0.5) / Math.sqrt(4.001)) * 2 - 1),
    );
  });
});
