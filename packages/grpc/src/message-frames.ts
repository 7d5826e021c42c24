import { Code, ConnectError } from "@connectrpc/connect";

/** A flag, and the length of the message as 32 bits, big-endian. */
const FRAME_HEAD_BYTES = 5;

/** Takes a body apart as its pieces come. */
export interface FrameReader {
  /**
   * The messages that end in this piece. One that lies in it whole is a view on it; any other is a buffer of its own.
   * Throws a ConnectError for what is no frame, for a compressed message and for one beyond the limit.
   */
  push(piece: Uint8Array): readonly Uint8Array[];
  /** Throws where the body has ended inside a frame. */
  end(): void;
}

/** A head may promise more than ever comes: only so much is reserved for it before the bytes are there. */
const RESERVED_BYTES = 16 * 1024 * 1024;

export function createFrameReader(maxMessageSize: number): FrameReader {
  const head = new Uint8Array(FRAME_HEAD_BYTES);
  let headLength = 0;
  /** Of the message whose head is whole. */
  let length: number | undefined;
  let message = new Uint8Array(0);
  let filled = 0;

  function make(room: number): void {
    if (message.length >= room) return;
    const grown = new Uint8Array(
      Math.min(length ?? room, Math.max(room, 2 * message.length, RESERVED_BYTES)),
    );
    grown.set(message.subarray(0, filled));
    message = grown;
  }

  return {
    push({ buffer, byteOffset, byteLength }) {
      // Not a view on the piece as it is: that of Node's Buffer is one too, whose `slice` copies nothing.
      const piece = new Uint8Array(buffer, byteOffset, byteLength);
      const messages: Uint8Array[] = [];
      let offset = 0;
      for (;;) {
        if (length === undefined) {
          const part = piece.subarray(offset, offset + FRAME_HEAD_BYTES - headLength);
          head.set(part, headLength);
          headLength += part.length;
          offset += part.length;
          if (headLength < FRAME_HEAD_BYTES) return messages;
          headLength = 0;
          length = lengthIn(head, maxMessageSize);
        }
        const part = piece.subarray(offset, offset + length - filled);
        offset += part.length;
        if (part.length === length) messages.push(part);
        else {
          make(filled + part.length);
          message.set(part, filled);
          filled += part.length;
          if (filled < length) return messages;
          messages.push(message);
          message = new Uint8Array(0);
          filled = 0;
        }
        length = undefined;
      }
    },
    end() {
      if (headLength === 0 && length === undefined) return;
      throw new ConnectError("protocol error: incomplete envelope", Code.InvalidArgument);
    },
  };
}

/** Texts are those of gRPC's own server where it has one. */
function lengthIn(head: Uint8Array, maxMessageSize: number): number {
  const view = new DataView(head.buffer);
  const flag = view.getUint8(0);
  if (flag === 1) throw new ConnectError("a compressed message came without grpc-encoding", Code.Internal);
  if (flag !== 0) {
    throw new ConnectError(`Bad GRPC frame type 0x${flag.toString(16).padStart(2, "0")}`, Code.Internal);
  }
  const length = view.getUint32(1);
  if (length <= maxMessageSize) return length;
  throw new ConnectError(
    `Received message larger than max (${length} vs. ${maxMessageSize})`,
    Code.ResourceExhausted,
  );
}

/** One message, given in parts that are copied once, in its frame. */
export function frameOf(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const frame = new Uint8Array(FRAME_HEAD_BYTES + length);
  new DataView(frame.buffer).setUint32(1, length);
  let offset = FRAME_HEAD_BYTES;
  for (const part of parts) {
    frame.set(part, offset);
    offset += part.length;
  }
  return frame;
}
