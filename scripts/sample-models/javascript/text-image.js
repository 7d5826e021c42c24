import { answerEach, inputOf } from "./answer-each.js";
import { decodeImage, scaledPixels } from "./decode-image.js";

/** Larger pictures are made smaller: lines of text are found all the same, in a fraction of the time. */
const LONGEST = 960;
/** The detector halves its picture five times. */
const STEP = 32;
const MEAN = [0.485, 0.456, 0.406];
const DEVIATION = [0.229, 0.224, 0.225];

/** A picture file to what the text detector sees: FP32 [1, 3, height, width], channels in the order blue, green, red. */
export default class TextImage {
  /** @param {readonly import("naiad/model").InferenceRequest[]} requests */
  execute(requests) {
    return answerEach(requests, async (request) => {
      const picture = await decodeImage(inputOf(request, "IMAGE").as("UINT8").slice());
      const scale = Math.min(1, LONGEST / Math.max(picture.width, picture.height));
      const width = inSteps(picture.width * scale);
      const height = inSteps(picture.height * scale);
      const whole = { x: 0, y: 0, width: picture.width, height: picture.height };
      const planes = planesOf(scaledPixels(picture, whole, width, height));
      picture.close();
      return [new triton.Tensor("PIXELS", planes, [1, 3, height, width])];
    });
  }
}

/** @param {number} side */
function inSteps(side) {
  return Math.max(STEP, Math.round(side / STEP) * STEP);
}

/** @param {Uint8ClampedArray} rgba */
function planesOf(rgba) {
  const plane = rgba.length / 4;
  const planes = new Float32Array(3 * plane);
  for (let pixel = 0; pixel < plane; pixel += 1) {
    for (let channel = 0; channel < 3; channel += 1) {
      const value = (rgba[pixel * 4 + 2 - channel] ?? 0) / 255;
      planes[channel * plane + pixel] = (value - (MEAN[channel] ?? 0)) / (DEVIATION[channel] ?? 1);
    }
  }
  return planes;
}
