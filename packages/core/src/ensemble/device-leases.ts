import type { DeviceTensor, Tensor } from "@naiad/protocol";
import type { DeviceMemory } from "../ports.ts";

/** The tensors on devices that one request of an ensemble has to dispose, each exactly once. */
export interface DeviceLeases {
  /** Takes over those among the outputs of a step. */
  take(outputs: readonly Tensor[], memory: DeviceMemory | undefined): void;
  /** Disposes all but these, which may be there under other names and shapes. */
  keepOnly(used: () => Iterable<Tensor>): void;
  /** Whether it lay in the memory of a worker that has ended. */
  isLost(tensor: Tensor): boolean;
}

interface Lease {
  readonly tensor: DeviceTensor;
  readonly memory: DeviceMemory;
}

export function createDeviceLeases(): DeviceLeases {
  const leases = new Map<string, Lease>();
  return {
    take(outputs, memory) {
      if (memory === undefined) return;
      for (const tensor of outputs) {
        if (tensor.kind === "device") leases.set(keyOf(tensor), { tensor, memory });
      }
    },
    keepOnly(used) {
      if (leases.size === 0) return;
      const keys = new Set<string>();
      for (const tensor of used()) if (tensor.kind === "device") keys.add(keyOf(tensor));
      for (const [key, { tensor, memory }] of leases) {
        if (keys.has(key)) continue;
        leases.delete(key);
        memory.dispose(tensor);
      }
    },
    isLost: (tensor) => tensor.kind === "device" && leases.get(keyOf(tensor))?.memory.isLost === true,
  };
}

function keyOf({ worker, handle }: DeviceTensor): string {
  return `${worker} ${String(handle)}`;
}
