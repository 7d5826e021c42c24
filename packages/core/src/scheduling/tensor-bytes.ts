import type { Tensor } from "@naiad/protocol";
import { tensorByteSize } from "@naiad/protocol";

/** In the server's own memory: what lies on a device takes none. */
export function hostBytes(tensors: readonly Tensor[]): number {
  let bytes = 0;
  for (const tensor of tensors) if (tensor.kind === "bytes") bytes += tensor.bytes.byteLength;
  return bytes;
}

/** In the memory of devices. */
export function deviceBytes(tensors: readonly Tensor[]): number {
  let bytes = 0;
  for (const { kind, datatype, shape } of tensors) {
    // Of BYTES no tensor lies on a device.
    if (kind === "device") bytes += tensorByteSize(datatype, shape) ?? 0;
  }
  return bytes;
}
