/** The buffers of a GPU device that exist. */
export interface BufferCount {
  readonly bytes: number;
}

/**
 * Counts from now on. A buffer counts until it is destroyed or, where its owner only lets go of it, collected; what the driver
 * takes besides (padding, shaders, textures) nobody tells.
 */
export function countBuffers(device: Pick<GPUDevice, "createBuffer">): BufferCount {
  let bytes = 0;
  const collected = new FinalizationRegistry((size: number) => {
    bytes -= size;
  });
  const createBuffer = device.createBuffer.bind(device);
  device.createBuffer = (descriptor) => {
    const buffer = createBuffer(descriptor);
    const { size } = buffer;
    bytes += size;
    collected.register(buffer, size, buffer);
    const destroy = buffer.destroy.bind(buffer);
    buffer.destroy = () => {
      // The registry knows whether it was destroyed before.
      if (collected.unregister(buffer)) bytes -= size;
      destroy();
    };
    return buffer;
  };
  return {
    get bytes() {
      return bytes;
    },
  };
}
