/** Height that the recogniser reads. */
const HEIGHT = 48;
const SHORTEST = 48;
const LONGEST = 1600;

export interface ImageTensor {
  readonly data: Float32Array<ArrayBuffer>;
  readonly shape: readonly number[];
}

/**
 * A picture of one line of text as the recogniser wants it: FP32 [1, 3, 48, width], -1 to 1, scaled to its height. Margins
 * around the ink are cut first, since the model expects a line that fills its height.
 */
export function lineTensor(source: CanvasImageSource, width: number, height: number): ImageTensor {
  const full = draw(source, width, height, { x: 0, y: 0, width, height }, width, height);
  const ink = inkBounds(full);
  const scaled = Math.round((ink.width * HEIGHT) / ink.height);
  const target = Math.min(Math.max(scaled, SHORTEST), LONGEST);
  const { data } = draw(source, width, height, ink, Math.min(scaled, target), HEIGHT, target);
  const plane = target * HEIGHT;
  const tensor = new Float32Array(3 * plane);
  for (let pixel = 0; pixel < plane; pixel += 1) {
    for (let channel = 0; channel < 3; channel += 1) {
      // The model was trained on images in BGR order.
      tensor[(2 - channel) * plane + pixel] = (data[pixel * 4 + channel] ?? 0) / 127.5 - 1;
    }
  }
  return { data: tensor, shape: [1, 3, HEIGHT, target] };
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

function draw(
  source: CanvasImageSource,
  sourceWidth: number,
  sourceHeight: number,
  from: Box,
  toWidth: number,
  toHeight: number,
  canvasWidth: number = toWidth,
): ImageData {
  const canvas = new OffscreenCanvas(canvasWidth, toHeight);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (context === null) throw new Error("this browser has no 2D canvas");
  context.fillStyle = "white";
  context.fillRect(0, 0, canvasWidth, toHeight);
  context.imageSmoothingQuality = "high";
  const clipped = { width: Math.min(from.width, sourceWidth), height: Math.min(from.height, sourceHeight) };
  context.drawImage(source, from.x, from.y, clipped.width, clipped.height, 0, 0, toWidth, toHeight);
  return context.getImageData(0, 0, canvasWidth, toHeight);
}

/** The smallest box that holds whatever differs from the corner's colour, with a little air around it. */
function inkBounds({ data, width, height }: ImageData): Box {
  const differs = (at: number): boolean => {
    let distance = 0;
    for (let channel = 0; channel < 3; channel += 1)
      distance += Math.abs((data[at + channel] ?? 0) - (data[channel] ?? 0));
    return distance > 96;
  };
  let [left, top, right, bottom] = [width, height, -1, -1];
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      if (!differs((y * width + x) * 4)) continue;
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = Math.max(bottom, y);
    }
  }
  if (right < 0) return { x: 0, y: 0, width, height };
  const air = Math.max(2, Math.round((bottom - top + 1) * 0.2));
  const x = Math.max(0, left - air);
  const y = Math.max(0, top - air);
  return {
    x,
    y,
    width: Math.min(width, right + air + 1) - x,
    height: Math.min(height, bottom + air + 1) - y,
  };
}
