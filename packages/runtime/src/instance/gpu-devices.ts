import type { GpuContext } from "@naiad/backend-onnxruntime";
import { requestGpu } from "@naiad/backend-onnxruntime";
import type { BufferCount } from "./buffer-count.ts";
import { countBuffers } from "./buffer-count.ts";

/** The worker's devices, one per adapter: its models share them, so that tensors can go from one to the next. */
export interface GpuDevices {
  /** Rejects with UNSUPPORTED where there is no such adapter; the next call asks again. */
  get(adapterIndex: number): Promise<GpuContext>;
  /** Of the buffers on all of them. */
  readonly bufferBytes: number;
}

/** `onLost` is called once for each device that is lost: its sessions are of no more use, and a new one needs a new worker. */
export function createGpuDevices(gpu: GPU | undefined, onLost: (reason: string) => void): GpuDevices {
  const devices = new Map<number, Promise<GpuContext>>();
  const counts: BufferCount[] = [];

  async function request(adapterIndex: number): Promise<GpuContext> {
    try {
      const context = await requestGpu(gpu, adapterIndex);
      counts.push(countBuffers(context.device));
      void context.lost.then(onLost);
      return context;
    } catch (thrown) {
      devices.delete(adapterIndex);
      throw thrown;
    }
  }

  return {
    get bufferBytes() {
      return counts.reduce((sum, { bytes }) => sum + bytes, 0);
    },
    get(adapterIndex) {
      const present = devices.get(adapterIndex);
      if (present !== undefined) return present;
      const requested = request(adapterIndex);
      devices.set(adapterIndex, requested);
      return requested;
    },
  };
}
