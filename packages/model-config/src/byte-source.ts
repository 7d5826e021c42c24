/** Bytes that can be read in any order, so that a large file is never held whole. */
export interface ByteSource {
  readonly size: number;
  /** Exactly `length` bytes from `offset`; the range lies within `size`. The caller only reads them. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

/** Bytes in memory as a source. Keeps `bytes`. */
export function byteSourceOf(bytes: Uint8Array): ByteSource {
  return {
    size: bytes.byteLength,
    read: (offset, length) => Promise.resolve(bytes.subarray(offset, offset + length)),
  };
}
