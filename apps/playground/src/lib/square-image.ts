/** Where the picture lies inside the square that the model saw, in fractions of the square. */
export interface Fit {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A picture as FP32 [1, size, size, 3], -1 to 1, padded with black to a square. */
export function squareTensor(
  source: CanvasImageSource,
  width: number,
  height: number,
  size: number,
): { readonly data: Float32Array<ArrayBuffer>; readonly shape: readonly number[]; readonly fit: Fit } {
  const canvas = new OffscreenCanvas(size, size);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (context === null) throw new Error("this browser has no 2D canvas");
  const scale = size / Math.max(width, height);
  const [w, h] = [width * scale, height * scale];
  const [x, y] = [(size - w) / 2, (size - h) / 2];
  context.fillRect(0, 0, size, size);
  context.imageSmoothingQuality = "high";
  context.drawImage(source, x, y, w, h);
  const pixels = context.getImageData(0, 0, size, size).data;
  const data = new Float32Array(size * size * 3);
  for (let pixel = 0; pixel < size * size; pixel += 1) {
    for (let channel = 0; channel < 3; channel += 1) {
      data[pixel * 3 + channel] = (pixels[pixel * 4 + channel] ?? 0) / 127.5 - 1;
    }
  }
  return {
    data,
    shape: [1, size, size, 3],
    fit: { x: x / size, y: y / size, width: w / size, height: h / size },
  };
}

/** A point of the square as a fraction of the picture. */
export function unfit(fit: Fit, x: number, y: number): readonly [x: number, y: number] {
  return [(x - fit.x) / fit.width, (y - fit.y) / fit.height];
}
