import { InferenceSession, Tensor } from "onnxruntime-web";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { efficientNetLite0 } from "./efficientnet-lite0.ts";
import { pipelineModels } from "./pipeline-models.ts";

const IMAGE = 3 * 224 * 224;
const CLASSES = 1000;

let session: InferenceSession;
let labels: readonly string[];
beforeAll(async () => {
  const files = (await pipelineModels()).find(({ name }) => name === "efficientnet_lite0")?.files ?? {};
  labels = String(files["labels.txt"]).trimEnd().split("\n");
  session = await InferenceSession.create(files["1/model.onnx"] as Uint8Array<ArrayBuffer>);
});
afterAll(() => session.release());

async function classify(images: readonly Float32Array[]): Promise<readonly Float32Array[]> {
  const input = Float32Array.from(images.flatMap((image) => [...image]));
  const image = new Tensor("float32", input, [images.length, 3, 224, 224]);
  const { probabilities } = await session.run({ image });
  expect(probabilities?.dims).toEqual([images.length, CLASSES]);
  const data = probabilities?.data as Float32Array;
  return images.map((_, row) => data.slice(row * CLASSES, (row + 1) * CLASSES));
}

/** A picture in two colours, `inner` in a circle on `outer`, as the network sees it. */
function disc(inner: readonly number[], outer: readonly number[]): Float32Array {
  return Float32Array.from({ length: IMAGE }, (_, index) => {
    const [channel, pixel] = [Math.floor(index / (224 * 224)), index % (224 * 224)];
    const isInside = Math.hypot((pixel % 224) - 112, Math.floor(pixel / 224) - 112) < 80;
    return (((isInside ? inner : outer)[channel] ?? 0) - 127) / 128;
  });
}

describe("efficientnet_lite0", () => {
  it("gives one label and one probability for each class", async () => {
    expect(labels).toHaveLength(CLASSES);
    const [probabilities = new Float32Array()] = await classify([disc([255, 140, 0], [255, 255, 255])]);
    expect(probabilities.reduce((sum, each) => sum + each, 0)).toBeCloseTo(1, 4);
    expect(probabilities.every((each) => each >= 0)).toBe(true);
  });

  it("sees a picture alone as it sees it in a batch", async () => {
    const pictures = [
      disc([255, 140, 0], [255, 255, 255]),
      disc([0, 0, 0], [60, 120, 200]),
      disc([200, 30, 30], [20, 80, 20]),
    ];
    const together = await classify(pictures);
    for (const [row, picture] of pictures.entries()) {
      const [alone = new Float32Array()] = await classify([picture]);
      const differences = alone.map((each, index) => Math.abs(each - (together[row]?.[index] ?? NaN)));
      expect(Math.max(...differences)).toBeLessThan(1e-4);
    }
  });

  it("is not made of a checkpoint that lacks weights", () => {
    expect(() => efficientNetLite0(new Map())).toThrow("the checkpoint has no _conv_stem.weight");
  });
});
