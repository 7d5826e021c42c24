import { answerEach, inputOf } from "./answer-each.js";
import { decodeCtc } from "./ctc.js";
import { decodeImage, scaledPixels } from "./decode-image.js";
import { inkBounds } from "./ink-bounds.js";
import { makeReady } from "./make-ready.js";
import { findRegions } from "./text-regions.js";

/** @typedef {{ readonly x: number, readonly y: number, readonly width: number, readonly height: number }} Box */

const RECOGNIZER = "ocr_recognizer";
/** Of the lines that the recogniser reads. */
const HEIGHT = 48;
const LONGEST = 1600;
/** Lines are padded to multiples of this, because only lines of equal width share a batch. */
const WIDTH_STEP = 160;

/**
 * A picture file and the detector's map of it, to the lines of text in it: each is cut out and read by the recogniser, all at
 * the same time, so that the recogniser's scheduler batches them.
 */
export default class TextLines {
  /** @type {readonly string[]} */
  labels = [];
  /** @type {import("naiad/model").ModelArgs | undefined} */
  args;

  /** @param {import("naiad/model").ModelArgs} args */
  async initialize(args) {
    this.args = args;
    this.labels = (await args.files.readText("labels.txt")).replace(/\n$/, "").split("\n");
  }

  /** @param {readonly import("naiad/model").InferenceRequest[]} requests */
  execute(requests) {
    const { args } = this;
    if (args === undefined) throw new Error("the model is not initialized");
    return answerEach(requests, async (request) => {
      await makeReady(args, RECOGNIZER);
      const map = inputOf(request, "PROBABILITIES");
      const [height = 0, width = 0] = map.shape.slice(-2);
      const picture = await decodeImage(inputOf(request, "IMAGE").as("UINT8").slice());
      const [scaleX, scaleY] = [picture.width / width, picture.height / height];
      const boxes = findRegions(map.as("FP32"), width, height).map(({ left, top, right, bottom }) => ({
        x: left * scaleX,
        y: top * scaleY,
        width: (right - left) * scaleX,
        height: (bottom - top) * scaleY,
      }));
      const readings = await Promise.all(
        boxes.map((box) => this.#read(args, lineTensor(picture, box), request.signal)),
      ).finally(() => {
        picture.close();
      });
      const lines = readings.flatMap((reading, index) => {
        const box = boxes[index];
        return reading.text === "" || box === undefined ? [] : [{ ...reading, box }];
      });
      return [
        new triton.Tensor(
          "TEXT",
          lines.map(({ text }) => text),
          [lines.length],
          "BYTES",
        ),
        new triton.Tensor(
          "SCORE",
          Float32Array.from(lines, ({ score }) => score),
          [lines.length],
        ),
        new triton.Tensor(
          "BOX",
          Float32Array.from(lines.flatMap(({ box }) => [box.x, box.y, box.width, box.height])),
          [lines.length, 4],
        ),
      ];
    });
  }

  /**
   * @param {import("naiad/model").ModelArgs} args
   * @param {import("naiad/model").Tensor} line
   * @param {AbortSignal} signal
   */
  async #read({ infer }, line, signal) {
    const response = await infer({ modelName: RECOGNIZER, inputs: [line], signal });
    if (response.error !== undefined) throw response.error;
    const [output] = response.outputTensors;
    if (output === undefined) throw new Error(`${RECOGNIZER} answered without an output`);
    return decodeCtc(output.as("FP32"), this.labels);
  }
}

/**
 * @param {ImageBitmap} picture
 * @param {Box} box
 * @returns {Box}
 */
function withoutMargins(picture, box) {
  // Twice the height that is read is enough to see where the ink is.
  const scale = Math.min(1, (2 * HEIGHT) / box.height);
  const width = Math.max(1, Math.round(box.width * scale));
  const height = Math.max(1, Math.round(box.height * scale));
  const ink = inkBounds(scaledPixels(picture, box, width, height), width, height);
  return {
    x: box.x + ink.x / scale,
    y: box.y + ink.y / scale,
    width: ink.width / scale,
    height: ink.height / scale,
  };
}

/**
 * FP32 [1, 3, 48, width], -1 to 1, channels in the order blue, green, red; zeros behind the line.
 *
 * @param {ImageBitmap} picture
 * @param {Box} box
 */
function lineTensor(picture, box) {
  const line = withoutMargins(picture, box);
  const width = Math.min(LONGEST, Math.max(1, Math.round((line.width * HEIGHT) / line.height)));
  const padded = Math.ceil(width / WIDTH_STEP) * WIDTH_STEP;
  const rgba = scaledPixels(picture, line, width, HEIGHT);
  const planes = new Float32Array(3 * HEIGHT * padded);
  for (let y = 0; y < HEIGHT; y += 1) {
    for (let x = 0; x < width; x += 1) {
      for (let channel = 0; channel < 3; channel += 1) {
        planes[(channel * HEIGHT + y) * padded + x] =
          (rgba[(y * width + x) * 4 + 2 - channel] ?? 0) / 127.5 - 1;
      }
    }
  }
  return new triton.Tensor("x", planes, [1, 3, HEIGHT, padded]);
}
