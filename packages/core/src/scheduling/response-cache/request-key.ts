import type { Tensor } from "@naiad/protocol";
import type { ValidRequest } from "../scheduler.ts";
import { murmurHash128 } from "./murmur-hash.ts";

/**
 * Equal for requests to one model that have the same answer: names, datatypes, shapes and bytes of the inputs, and the
 * outputs wanted, in their order. Everything but the bytes stands in it word for word. Not part of it, as in Triton: id,
 * parameters, priority, timeout. `undefined` where an input lies on a device, whose content cannot be compared.
 */
export function requestKey({ inputs, outputs }: ValidRequest): string | undefined {
  const contents: unknown[] = [];
  // In the order of the configuration, whatever that of the client was.
  for (const input of inputs) {
    if (input.kind === "device") return undefined;
    contents.push(inputKey(input));
  }
  return JSON.stringify([outputs, contents]);
}

function inputKey({ name, datatype, shape, bytes }: Extract<Tensor, { readonly kind: "bytes" }>): unknown {
  return [name, datatype, shape, bytes.byteLength, murmurHash128(bytes)];
}
