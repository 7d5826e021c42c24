import { deflateSync, gzipSync } from "node:zlib";
import { InferenceError } from "@naiad/protocol";

export type GrpcCompression = "none" | "gzip" | "deflate";

const HEAD_SIZE = 5;

/** A message as gRPC frames it. A compressed one needs the header `grpc-encoding`. */
export function grpcFrame(message: Uint8Array, compression: GrpcCompression = "none"): Uint8Array {
  const content = compressed(message, compression);
  const frame = new Uint8Array(HEAD_SIZE + content.length);
  frame[0] = compression === "none" ? 0 : 1;
  new DataView(frame.buffer).setUint32(1, content.length);
  frame.set(content, HEAD_SIZE);
  return frame;
}

function compressed(message: Uint8Array, compression: GrpcCompression): Uint8Array {
  switch (compression) {
    case "none":
      return message;
    case "gzip":
      return gzipSync(message);
    case "deflate":
      return deflateSync(message);
  }
}

/** Reads the messages of one direction of a call, whose bytes come in pieces of any size. */
export interface GrpcMessageReader {
  /** The messages that this piece completes. INTERNAL for a compressed one, which was not asked for. */
  push(piece: Buffer): readonly Uint8Array[];
  /** INTERNAL where a message is cut off. */
  end(): void;
}

export function createGrpcMessageReader(): GrpcMessageReader {
  let rest: Buffer | undefined;
  return {
    push: (piece) => {
      const bytes = rest === undefined ? piece : Buffer.concat([rest, piece]);
      const messages: Uint8Array[] = [];
      let offset = 0;
      while (offset + HEAD_SIZE <= bytes.length) {
        if (bytes[offset] !== 0) throw new InferenceError("INTERNAL", "a gRPC message is compressed");
        const end = offset + HEAD_SIZE + bytes.readUInt32BE(offset + 1);
        if (end > bytes.length) break;
        messages.push(bytes.subarray(offset + HEAD_SIZE, end));
        offset = end;
      }
      rest = offset === bytes.length ? undefined : bytes.subarray(offset);
      return messages;
    },
    end: () => {
      if (rest !== undefined) throw new InferenceError("INTERNAL", "a gRPC message was cut off");
    },
  };
}
