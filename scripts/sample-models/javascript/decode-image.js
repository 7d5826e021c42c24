/**
 * The picture in a JPEG, PNG or WebP file, turned as the camera was held. The caller closes it.
 *
 * @param {Uint8Array<ArrayBuffer>} file
 * @returns {Promise<ImageBitmap>}
 */
export async function decodeImage(file) {
  try {
    return await createImageBitmap(new Blob([file]));
  } catch {
    throw new triton.ModelError(
      `the ${String(file.length)} bytes of the image are no JPEG, PNG or WebP file that this browser can read`,
      "INVALID_ARG",
    );
  }
}

/**
 * A part of a picture, scaled, as RGBA. What is transparent is white.
 *
 * @param {ImageBitmap} image
 * @param {{ readonly x: number, readonly y: number, readonly width: number, readonly height: number }} part
 * @param {number} width
 * @param {number} height
 * @returns {Uint8ClampedArray}
 */
export function scaledPixels(image, part, width, height) {
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  if (context === null) throw new Error("this browser has no 2D canvas in workers");
  context.fillStyle = "white";
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = "high";
  context.drawImage(image, part.x, part.y, part.width, part.height, 0, 0, width, height);
  return context.getImageData(0, 0, width, height).data;
}
