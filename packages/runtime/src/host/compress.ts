/** Packs a response body; `deflate` has the zlib wrapper. */
export async function compress(encoding: "gzip" | "deflate", bytes: Uint8Array): Promise<Uint8Array> {
  const packed = new Blob([new Uint8Array(bytes)]).stream().pipeThrough(new CompressionStream(encoding));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}
