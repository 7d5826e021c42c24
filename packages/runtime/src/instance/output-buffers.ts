import type { InstanceOutcome } from "@naiad/core";

/**
 * The buffers under the outputs of an execution, each once. The backend made them for this answer, and parts of one
 * output lie on one buffer: sent together they stay views on it.
 */
export function outputBuffers(outcomes: readonly InstanceOutcome[]): readonly Transferable[] {
  const buffers = new Set<ArrayBuffer>();
  for (const outcome of outcomes) {
    if (outcome.kind === "error") continue;
    for (const tensor of outcome.outputs) {
      if (tensor.kind === "bytes" && tensor.bytes.buffer instanceof ArrayBuffer)
        buffers.add(tensor.bytes.buffer);
    }
  }
  return [...buffers];
}
