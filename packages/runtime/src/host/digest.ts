import type { Digest } from "@naiad/core";
import { sha256 } from "./sha256.ts";

/** SHA-256 by the platform where it offers it (secure contexts), else in plain code. */
export function createDigest(subtle: Pick<SubtleCrypto, "digest"> | undefined): Digest {
  return {
    async sha256(bytes) {
      if (subtle === undefined) return toHex(sha256(bytes));
      // The platform refuses views on shared memory.
      const plain = isPlain(bytes) ? bytes : new Uint8Array(bytes);
      return toHex(new Uint8Array(await subtle.digest("SHA-256", plain)));
    },
  };
}

function isPlain(bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer;
}

function toHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}
