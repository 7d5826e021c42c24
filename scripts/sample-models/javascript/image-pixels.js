import { answerEach, inputOf } from "./answer-each.js";
import { decodeImage, scaledPixels } from "./decode-image.js";

const SIDE = 224;
const PLANE = SIDE * SIDE;
/** The network was trained on the middle of its pictures: 224 of 256 pixels. */
const MIDDLE = 224 / 256;

/** Picture files to what the classifier sees: the middle square of each, FP32 [3, 224, 224], (value - 127) / 128. */
export default class ImagePixels {
  /** @param {readonly import("naiad/model").InferenceRequest[]} requests */
  execute(requests) {
    return answerEach(requests, async (request) => {
      const file = inputOf(request, "IMAGE");
      const [rows = 1, length = 0] = file.shape;
      const bytes = file.as("UINT8");
      const pixels = new Float32Array(rows * 3 * PLANE);
      for (let row = 0; row < rows; row += 1) {
        const picture = await decodeImage(bytes.slice(row * length, (row + 1) * length));
        pixels.set(planesOf(picture), row * 3 * PLANE);
        picture.close();
      }
      return [new triton.Tensor("PIXELS", pixels, [rows, 3, SIDE, SIDE])];
    });
  }
}

/** @param {ImageBitmap} picture */
function planesOf(picture) {
  const side = Math.min(picture.width, picture.height) * MIDDLE;
  const middle = {
    x: (picture.width - side) / 2,
    y: (picture.height - side) / 2,
    width: side,
    height: side,
  };
  const rgba = scaledPixels(picture, middle, SIDE, SIDE);
  const planes = new Float32Array(3 * PLANE);
  for (let pixel = 0; pixel < PLANE; pixel += 1) {
    for (let channel = 0; channel < 3; channel += 1) {
      planes[channel * PLANE + pixel] = ((rgba[pixel * 4 + channel] ?? 0) - 127) / 128;
    }
  }
  return planes;
}
