import type { ArrivingRequest } from "@naiad/link/tunnel";
import { headerValue, InferenceError } from "@naiad/protocol";

/** What one `ArrayBuffer` certainly holds in every browser. */
const MAX_BODY_BYTES = 2 ** 31 - 1;

/**
 * The whole body in one buffer, which is made at once where the request names its length. Throws INVALID_ARG for a body
 * that no buffer can hold.
 */
export async function readBody({ headers, body }: ArrivingRequest): Promise<Uint8Array> {
  const named = Number(headerValue(headers, "content-length") ?? "0");
  if (named > MAX_BODY_BYTES) throw tooLarge();
  let whole = new Uint8Array(Number.isSafeInteger(named) && named > 0 ? named : 0);
  let length = 0;
  for await (const piece of body) {
    const end = length + piece.length;
    if (end > MAX_BODY_BYTES) throw tooLarge();
    if (end > whole.length) {
      const grown = new Uint8Array(Math.min(MAX_BODY_BYTES, Math.max(end, 2 * whole.length)));
      grown.set(whole.subarray(0, length));
      whole = grown;
    }
    whole.set(piece, length);
    length = end;
  }
  return whole.subarray(0, length);
}

function tooLarge(): InferenceError {
  return new InferenceError(
    "INVALID_ARG",
    `the request body exceeds the maximum of ${MAX_BODY_BYTES} bytes that a browser holds in one piece`,
  );
}
