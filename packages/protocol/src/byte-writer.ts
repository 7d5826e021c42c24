const UTF8 = new TextEncoder();

/** Bytes that grow while they are written. */
export class ByteWriter {
  #bytes: Uint8Array<ArrayBuffer>;
  #length = 0;

  constructor(capacity: number) {
    this.#bytes = new Uint8Array(capacity);
  }

  /** What has been written so far, as a view that the next write may leave behind. */
  view(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  text(text: string): void {
    // A UTF-16 unit is at most three bytes of UTF-8.
    const room = this.reserve(3 * text.length);
    this.#length += UTF8.encodeInto(text, room).written;
  }

  bytes(bytes: Uint8Array): void {
    this.reserve(bytes.length).set(bytes);
    this.#length += bytes.length;
  }

  /** Room for `byteLength` bytes after what has been written; whoever fills it calls `advance`. */
  reserve(byteLength: number): Uint8Array<ArrayBuffer> {
    const needed = this.#length + byteLength;
    if (needed > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
      grown.set(this.view());
      this.#bytes = grown;
    }
    return this.#bytes.subarray(this.#length);
  }

  advance(byteLength: number): void {
    this.#length += byteLength;
  }

  /** Little-endian. */
  uint32(value: number): void {
    putUint32(this.reserve(4), value);
    this.#length += 4;
  }

  /** A text after its length in bytes, as one element of a BYTES tensor. */
  prefixedText(text: string): void {
    const room = this.reserve(4 + 3 * text.length);
    const { written } = UTF8.encodeInto(text, room.subarray(4));
    putUint32(room, written);
    this.#length += 4 + written;
  }
}

function putUint32(target: Uint8Array, value: number): void {
  target[0] = value;
  target[1] = value >>> 8;
  target[2] = value >>> 16;
  target[3] = value >>> 24;
}
