/**
 * Unpacks a request's content; `deflate` has the zlib wrapper. Rejects with an InferenceError when the bytes are damaged or
 * unpack to more than `maxByteSize`.
 */
export type Decompress = (
  encoding: "gzip" | "deflate",
  bytes: Uint8Array,
  maxByteSize: number,
) => Promise<Uint8Array>;

/** Packs a response's content; `deflate` has the zlib wrapper. */
export type Compress = (encoding: "gzip" | "deflate", bytes: Uint8Array) => Promise<Uint8Array>;
