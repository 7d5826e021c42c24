import type { Compression } from "@connectrpc/connect/protocol";
import type { GrpcCompression } from "./grpc-options.ts";
import { toConnectError } from "./grpc-status.ts";

/** What a client may ask for, by the names that gRPC gives them. */
export function compressionsOf({ compress, decompress }: GrpcCompression): Compression[] {
  return (["gzip", "deflate"] as const).map((name) => ({
    name,
    compress: async (bytes) => owned(await compress(name, bytes)),
    decompress: async (bytes, maxByteSize) => {
      if (bytes.length === 0) return new Uint8Array(0);
      try {
        return owned(await decompress(name, bytes, maxByteSize));
      } catch (thrown) {
        throw toConnectError(thrown, new AbortController().signal);
      }
    },
  }));
}

/** The library does not take memory that is shared between threads. */
function owned(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = bytes;
  return buffer instanceof ArrayBuffer ? new Uint8Array(buffer, byteOffset, byteLength) : bytes.slice();
}
