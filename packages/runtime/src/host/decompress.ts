import { InferenceError } from "@naiad/protocol";

/** Unpacks a request body; `deflate` has the zlib wrapper. Gives up as soon as the result is too big. */
export async function decompress(
  encoding: "gzip" | "deflate",
  bytes: Uint8Array,
  maxByteSize: number,
): Promise<Uint8Array> {
  const packed = new Blob([new Uint8Array(bytes)]).stream();
  const reader = packed.pipeThrough(new DecompressionStream(encoding)).getReader();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let byteLength = 0;
  for (;;) {
    const piece = await reader.read().catch((thrown: unknown) => {
      throw new InferenceError("INVALID_ARG", `failed to decompress the ${encoding} body: ${textOf(thrown)}`);
    });
    if (piece.done) return new Uint8Array(await new Blob(pieces).arrayBuffer());
    pieces.push(piece.value);
    byteLength += piece.value.byteLength;
    if (byteLength > maxByteSize) {
      await reader.cancel();
      throw new InferenceError(
        "INVALID_ARG",
        `the decompressed body exceeds the maximum allowed input size of ${maxByteSize} bytes. ` +
          "Use --http-max-input-size to increase the limit.",
      );
    }
  }
}

function textOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
