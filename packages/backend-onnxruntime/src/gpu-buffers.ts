/** WebGPU's own numbers: the globals that name them are not there where there is no GPU. */
const USAGE = { MAP_READ: 1, COPY_SRC: 4, COPY_DST: 8, STORAGE: 128 } as const;
const MAP_MODE_READ = 1;

/** Copies begin and end at multiples of this many bytes. */
export const COPY_ALIGNMENT = 4;

/** A buffer that models read and write; the engine wants its size to be a multiple of 16. */
export function createTensorBuffer(device: GPUDevice, byteLength: number): GPUBuffer {
  return device.createBuffer({
    size: Math.ceil(byteLength / 16) * 16,
    usage: USAGE.STORAGE | USAGE.COPY_SRC | USAGE.COPY_DST,
  });
}

/** Part of a buffer. `byteOffset` is a multiple of 4. */
export interface BufferRange {
  readonly buffer: GPUBuffer;
  readonly byteOffset: number;
  readonly byteLength: number;
}

/**
 * The content of a new buffer, part after part: ranges of others, or bytes from here. All lengths but the last one's are
 * multiples of 4.
 */
export function joinOnDevice(device: GPUDevice, parts: readonly (BufferRange | Uint8Array)[]): GPUBuffer {
  const joined = createTensorBuffer(
    device,
    parts.reduce((sum, { byteLength }) => sum + byteLength, 0),
  );
  const commands = device.createCommandEncoder();
  let offset = 0;
  for (const part of parts) {
    if (part instanceof Uint8Array) device.queue.writeBuffer(joined, offset, padded(part));
    else commands.copyBufferToBuffer(part.buffer, part.byteOffset, joined, offset, copySize(part.byteLength));
    offset += part.byteLength;
  }
  device.queue.submit([commands.finish()]);
  return joined;
}

/** The bytes of a range, in a buffer that belongs to the caller. Rejects when the device is lost. */
export async function readFromDevice(
  device: GPUDevice,
  { buffer, byteOffset, byteLength }: BufferRange,
): Promise<Uint8Array<ArrayBuffer>> {
  const size = copySize(byteLength);
  const staging = device.createBuffer({ size, usage: USAGE.MAP_READ | USAGE.COPY_DST });
  try {
    const commands = device.createCommandEncoder();
    commands.copyBufferToBuffer(buffer, byteOffset, staging, 0, size);
    device.queue.submit([commands.finish()]);
    await staging.mapAsync(MAP_MODE_READ);
    return new Uint8Array(staging.getMappedRange().slice(0, byteLength));
  } finally {
    staging.destroy();
  }
}

/** What lies behind the last part is padding of both buffers. */
function copySize(byteLength: number): number {
  return Math.ceil(byteLength / COPY_ALIGNMENT) * COPY_ALIGNMENT;
}

function padded(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(copySize(bytes.byteLength));
  whole.set(bytes);
  return whole;
}
