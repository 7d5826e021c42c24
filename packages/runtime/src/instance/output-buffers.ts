import type { InstanceOutcome } from "@naiad/core";
import type { Tensor } from "@naiad/protocol";

/**
 * The buffers under the outputs of an execution, each once. The backend made them for this answer, and parts of one
 * output lie on one buffer: sent together they stay views on it.
 */
export function outputBuffers(outcomes: readonly InstanceOutcome[]): readonly Transferable[] {
  return ownBuffers(outcomes.flatMap((outcome) => ("outputs" in outcome ? outcome.outputs : [])));
}

/** The buffers under tensors that nobody else lies on, each once. */
export function ownBuffers(tensors: readonly Tensor[]): readonly Transferable[] {
  const buffers = new Set<ArrayBuffer>();
  for (const tensor of tensors) {
    if (tensor.kind === "bytes" && tensor.bytes.buffer instanceof ArrayBuffer)
      buffers.add(tensor.bytes.buffer);
  }
  return [...buffers];
}
