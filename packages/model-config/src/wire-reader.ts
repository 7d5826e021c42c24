import { InferenceError } from "@naiad/protocol";
import type { ByteSource } from "./byte-source.ts";

/** One field of a protobuf message. The bytes of a `bytes` field lie from `start` to `end` and are not read yet. */
export type WireField =
  | { readonly kind: "varint"; readonly number: number; readonly value: bigint }
  | { readonly kind: "bytes"; readonly number: number; readonly start: number; readonly end: number }
  | { readonly kind: "fixed"; readonly number: number };

const WINDOW_SIZE = 16 * 1024;
/** Longer than any name. */
const MAX_TEXT_SIZE = 1024 * 1024;
/** The longest header of a field: two varints of ten bytes. */
const HEADER_SIZE = 20;

/**
 * Walks over protobuf bytes field by field without reading what nobody asks for: weights are stepped over.
 * Fails with INVALID_ARG, naming the byte, on anything that is not protobuf.
 */
export class WireReader {
  readonly #source: ByteSource;
  readonly #what: string;
  #window: Uint8Array = new Uint8Array(0);
  #windowStart = 0;
  #position = 0;

  /** `what` names the file in errors. */
  constructor(source: ByteSource, what: string) {
    this.#source = source;
    this.#what = what;
  }

  /** The fields of the message between two offsets. `visit` may read inside a field; its bytes are skipped otherwise. */
  async forEachField(
    start: number,
    end: number,
    visit: (field: WireField) => Promise<void> | void,
  ): Promise<void> {
    let position = start;
    while (position < end) {
      await this.#buffer(position, Math.min(position + HEADER_SIZE, end));
      this.#position = position;
      const field = this.#readField(end);
      position = field.kind === "bytes" ? field.end : this.#position;
      // Awaiting only where there is something to wait for keeps a graph of many small fields fast.
      const visited = visit(field);
      if (visited !== undefined) await visited;
    }
  }

  /** The fields of a message that is itself a field; one of another wire type has none. */
  async forEachFieldIn(field: WireField, visit: (inner: WireField) => Promise<void> | void): Promise<void> {
    if (field.kind === "bytes") await this.forEachField(field.start, field.end, visit);
  }

  async text(field: WireField): Promise<string> {
    if (field.kind !== "bytes") throw this.#malformed(this.#position, `field ${field.number} is no text`);
    const { start, end } = field;
    if (end - start > MAX_TEXT_SIZE) throw this.#malformed(start, `a name of ${end - start} bytes`);
    await this.#buffer(start, end);
    return new TextDecoder().decode(
      this.#window.subarray(start - this.#windowStart, end - this.#windowStart),
    );
  }

  /** Makes `start` to `end` readable in the window. */
  async #buffer(start: number, end: number): Promise<void> {
    if (start >= this.#windowStart && end <= this.#windowStart + this.#window.byteLength) return;
    const length = Math.min(Math.max(end - start, WINDOW_SIZE), this.#source.size - start);
    const window = await this.#source.read(start, length);
    if (window.byteLength < end - start)
      throw this.#malformed(start + window.byteLength, "the file ends early");
    this.#window = window;
    this.#windowStart = start;
  }

  #readField(end: number): WireField {
    const start = this.#position;
    const tag = this.#readVarint(end);
    const number = Number(tag >> 3n);
    if (number === 0 || tag > 0xffff_ffffn) throw this.#malformed(start, `no field begins with ${tag}`);
    switch (Number(tag & 7n)) {
      case 0:
        return { kind: "varint", number, value: this.#readVarint(end) };
      case 1:
        return this.#skipFixed(number, 8, end);
      case 2: {
        const length = this.#readVarint(end);
        const fieldStart = this.#position;
        if (length > BigInt(end - fieldStart)) {
          throw this.#malformed(start, `field ${number} of ${length} bytes reaches beyond its message`);
        }
        return { kind: "bytes", number, start: fieldStart, end: fieldStart + Number(length) };
      }
      case 5:
        return this.#skipFixed(number, 4, end);
      default:
        throw this.#malformed(start, `field ${number} has an unknown wire type`);
    }
  }

  #skipFixed(number: number, byteLength: number, end: number): WireField {
    if (this.#position + byteLength > end) throw this.#malformed(this.#position, "a number is cut off");
    this.#position += byteLength;
    return { kind: "fixed", number };
  }

  #readVarint(end: number): bigint {
    const start = this.#position;
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#position < end ? this.#window[this.#position - this.#windowStart] : undefined;
      if (byte === undefined) throw this.#malformed(start, "a number is cut off");
      this.#position += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw this.#malformed(start, "a number has more than ten bytes");
  }

  #malformed(offset: number, reason: string): InferenceError {
    return new InferenceError("INVALID_ARG", `failed to read ${this.#what}: ${reason} (at byte ${offset})`);
  }
}

/** A signed integer field; 0 for a field of another wire type. */
export function integerOf(field: WireField): number {
  return field.kind === "varint" ? Number(BigInt.asIntN(64, field.value)) : 0;
}
