import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { inferBytes, output, uint8 } from "./binary-requests.ts";
import { expect, openPage, serveOrigin, startOn, test } from "./fixtures.ts";
import { fixtureFile, ownRepository } from "./own-models.ts";

test.describe("a quantised MobileNet on a photo of a parrot", () => {
  const data = process.env["NAIAD_TEST_DATA"];
  test.skip(data === undefined, "NAIAD_TEST_DATA names no folder with models/ and images/");

  /** The network takes bytes: it scales them itself. */
  const PIXELS = `
import { answerEach, inputOf } from "./answer-each.js";
import { decodeImage, scaledPixels } from "./decode-image.js";

export default class {
  execute(requests) {
    return answerEach(requests, async (request) => {
      const picture = await decodeImage(inputOf(request, "IMAGE").as("UINT8").slice());
      const whole = { x: 0, y: 0, width: picture.width, height: picture.height };
      const rgba = scaledPixels(picture, whole, 224, 224);
      const rgb = Uint8Array.from({ length: 224 * 224 * 3 }, (_, at) => rgba[Math.floor(at / 3) * 4 + (at % 3)]);
      return [new triton.Tensor("PIXELS", rgb, [1, 224, 224, 3])];
    });
  }
}
`;

  test("is a macaw", async ({ page }) => {
    const shared = (path: string): Promise<Uint8Array> => readFile(join(data ?? "", path));
    const repository = await ownRepository({
      "pixels/config.pbtxt": `backend: "javascript" max_batch_size: 8
        input [ { name: "IMAGE" data_type: TYPE_UINT8 dims: [ -1 ] } ]
        output [ { name: "PIXELS" data_type: TYPE_UINT8 dims: [ 224, 224, 3 ] } ]`,
      "pixels/1/model.js": PIXELS,
      "pixels/1/answer-each.js": await fixtureFile("image_pixels/1/answer-each.js"),
      "pixels/1/decode-image.js": await fixtureFile("image_pixels/1/decode-image.js"),
      "mobilenet/config.pbtxt": `max_batch_size: 8 instance_group [ { kind: KIND_CPU } ]`,
      "mobilenet/1/model.onnx": await shared("models/mobilenet_v2_1.0_224_quant.onnx"),
      "label/config.pbtxt": `backend: "javascript" max_batch_size: 8
        input [ { name: "PROBABILITIES" data_type: TYPE_FP32 dims: [ 1001 ] } ]
        output [ { name: "CLASS" data_type: TYPE_STRING dims: [ 1 ] }, { name: "SCORE" data_type: TYPE_FP32 dims: [ 1 ] } ]`,
      "label/labels.txt": await shared("models/imagenet_labels.txt"),
      "label/1/model.js": await fixtureFile("image_label/1/model.js"),
      "label/1/answer-each.js": await fixtureFile("image_label/1/answer-each.js"),
      "parrots/config.pbtxt": `platform: "ensemble" max_batch_size: 8
        input [ { name: "IMAGE" data_type: TYPE_UINT8 dims: [ -1 ] } ]
        output [ { name: "CLASS" data_type: TYPE_STRING dims: [ 1 ] }, { name: "SCORE" data_type: TYPE_FP32 dims: [ 1 ] } ]
        ensemble_scheduling { step [
          { model_name: "pixels" model_version: -1 input_map { key: "IMAGE" value: "IMAGE" } output_map { key: "PIXELS" value: "pixels" } },
          { model_name: "mobilenet" model_version: -1 input_map { key: "image" value: "pixels" } output_map { key: "probs" value: "probs" } },
          { model_name: "label" model_version: -1 input_map { key: "PROBABILITIES" value: "probs" }
            output_map { key: "CLASS" value: "CLASS" } output_map { key: "SCORE" value: "SCORE" } }
        ] }`,
      "parrots/1/.keep": "",
    });
    const origin = await serveOrigin({ models: repository.directory });
    await openPage(page, origin);
    await startOn(page, { loadModels: ["parrots"] });
    const parrot = await shared("images/parrot.jpg");
    const answer = await inferBytes(page, "parrots", uint8("IMAGE", [1, parrot.length], parrot));
    expect(output(answer, "CLASS").data).toEqual(["macaw"]);
    expect(output(answer, "SCORE").data[0]).toBeGreaterThan(0.95);
    await origin.close();
    await repository.remove();
  });
});
