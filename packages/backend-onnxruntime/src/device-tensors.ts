import { InferenceError } from "@naiad/protocol";
import type { GpuContext } from "./gpu-context.ts";
import type { BufferRange } from "./gpu-buffers.ts";
import { readFromDevice } from "./gpu-buffers.ts";

/** A tensor that a model has left in the memory of its GPU. */
export interface StoredTensor extends BufferRange {
  readonly gpu: GpuContext;
  /** Nothing else lies on its buffer, which the engine can then take as it is. */
  readonly isWhole: boolean;
}

/**
 * What the models of one worker have left on its GPUs, by handle. The buffers are our own and not the engine's, so that a
 * tensor outlives the session that wrote it.
 *
 * A GPU reports what went wrong when something is read from it, not when it is written. So everything written since the last
 * read counts as spoilt by an error.
 */
export interface DeviceTensors {
  /** As in `DeviceTensor.worker`. */
  readonly worker: string;
  /**
   * Takes a buffer over that holds parts of these sizes one behind the other, and destroys it when all parts were disposed.
   * Gives a handle for each part.
   */
  keep(gpu: GpuContext, buffer: GPUBuffer, byteLengths: readonly number[]): readonly number[];
  /** Throws UNAVAILABLE where there is no such tensor, and INTERNAL where it is spoilt. */
  get(handle: number): StoredTensor;
  /** Its bytes, which belong to the caller. Rejects as `get` throws, and with UNAVAILABLE where the device is lost. */
  read(handle: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Once for each. */
  dispose(handle: number): void;
  /** Nothing was written since the last read: an error that comes now is that of whoever runs now. */
  readonly isSettled: boolean;
  /** Something was read from the GPU, and no error came. */
  settle(): void;
  /** An error came. */
  spoil(): void;
}

export function createDeviceTensors(worker: string): DeviceTensors {
  const tensors = new Map<number, StoredTensor>();
  /** Tensors on each buffer. */
  const counts = new Map<GPUBuffer, number>();
  const spoilt = new Set<number>();
  let nextHandle = 1;
  /** What was written before it is sound. */
  let firstUnsettled = 1;

  function get(handle: number): StoredTensor {
    const tensor = tensors.get(handle);
    if (tensor === undefined) throw new InferenceError("UNAVAILABLE", "it is not on the GPU any more");
    if (spoilt.has(handle))
      throw new InferenceError("INTERNAL", "the GPU has reported an error since it was written");
    return tensor;
  }

  function settle(): void {
    firstUnsettled = nextHandle;
  }

  function spoil(): void {
    for (const handle of tensors.keys()) if (handle >= firstUnsettled) spoilt.add(handle);
    settle();
  }

  return {
    worker,
    keep(gpu, buffer, byteLengths) {
      let byteOffset = 0;
      counts.set(buffer, byteLengths.length);
      return byteLengths.map((byteLength) => {
        const handle = nextHandle;
        nextHandle += 1;
        const isWhole = byteLengths.length === 1;
        tensors.set(handle, { gpu, buffer, byteOffset, byteLength, isWhole });
        byteOffset += byteLength;
        return handle;
      });
    },
    get,
    async read(handle) {
      const tensor = get(handle);
      const { gpu } = tensor;
      let bytes: Uint8Array<ArrayBuffer>;
      try {
        bytes = await readFromDevice(gpu.device, tensor);
      } catch (cause) {
        throw new InferenceError("UNAVAILABLE", "it could not be read from the GPU", { cause });
      }
      if (gpu.takeErrors().length > 0) spoil();
      else settle();
      get(handle);
      return bytes;
    },
    dispose(handle) {
      const tensor = tensors.get(handle);
      tensors.delete(handle);
      spoilt.delete(handle);
      if (tensor === undefined) return;
      const { buffer } = tensor;
      const count = (counts.get(buffer) ?? 0) - 1;
      if (count > 0) {
        counts.set(buffer, count);
        return;
      }
      counts.delete(buffer);
      buffer.destroy();
    },
    get isSettled() {
      return firstUnsettled === nextHandle;
    },
    settle,
    spoil,
  };
}
