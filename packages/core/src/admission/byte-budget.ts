import type { Capabilities } from "@naiad/protocol";
import { invariant } from "@naiad/protocol";

/** Bytes that all requests take that were accepted and not yet answered, and how many there may be. */
export interface ByteBudget {
  readonly inflightBytes: number;
  readonly maxInflightBytes: number;
  /** A request that is larger than the whole budget fits when there is nothing else. */
  fits(bytes: number): boolean;
  /** From now until the returned function is called, which must be once. */
  hold(bytes: number): () => void;
}

export function createByteBudget(maxInflightBytes: number): ByteBudget {
  let inflightBytes = 0;
  return {
    get inflightBytes() {
      return inflightBytes;
    },
    maxInflightBytes,
    fits: (bytes) => inflightBytes === 0 || inflightBytes + bytes <= maxInflightBytes,
    hold: (bytes) => {
      let isHeld = true;
      inflightBytes += bytes;
      return () => {
        invariant(isHeld, "the bytes of a request are released once");
        isHeld = false;
        inflightBytes -= bytes;
      };
    },
  };
}

/** A request in flight exists up to three times: with its sender, in the host and in an instance. */
const MEMORY_FRACTION = 1 / 16;
const USUAL_MEMORY_BYTES = 4 * 1024 ** 3;

/** For a device of which the platform does not tell the memory, that of a small one is assumed. */
export function defaultMaxInflightBytes({
  deviceMemoryBytes = USUAL_MEMORY_BYTES,
}: Pick<Capabilities, "deviceMemoryBytes">): number {
  return Math.floor(deviceMemoryBytes * MEMORY_FRACTION);
}
