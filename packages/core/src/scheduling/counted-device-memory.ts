import type { Tensor } from "@naiad/protocol";
import type { DeviceMemory, InstanceOutcome } from "../ports.ts";
import { deviceBytes } from "./tensor-bytes.ts";

/** The device memory of one instance, which knows how many tensors of its lie there. */
export interface CountedDeviceMemory extends DeviceMemory {
  readonly count: number;
  readonly bytes: number;
  /** An execution of the instance has given these: whoever gets them disposes them. */
  add(outcomes: readonly InstanceOutcome[]): void;
}

export function countDeviceTensors(memory: DeviceMemory): CountedDeviceMemory {
  let count = 0;
  let bytes = 0;
  return {
    worker: memory.worker,
    get isLost() {
      return memory.isLost;
    },
    get count() {
      return count;
    },
    get bytes() {
      return bytes;
    },
    add(outcomes) {
      for (const outcome of outcomes) {
        if (!("outputs" in outcome)) continue;
        count += outcome.outputs.filter(({ kind }) => kind === "device").length;
        bytes += deviceBytes(outcome.outputs);
      }
    },
    dispose(tensor) {
      count -= 1;
      bytes -= deviceBytes([tensor]);
      memory.dispose(tensor);
    },
  };
}

/** Of outputs that nobody gets. */
export function disposeTensors(outputs: readonly Tensor[], memory: DeviceMemory | undefined): void {
  for (const output of outputs) if (output.kind === "device") memory?.dispose(output);
}
