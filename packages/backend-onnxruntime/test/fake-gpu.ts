/** A GPU whose memory is ordinary memory, and which minds WebGPU's rules for copies. */
export interface FakeGpu {
  readonly device: GPUDevice;
  readonly liveBuffers: number;
  /** Goes wrong now and is reported when something is read, as on a real one. */
  fail(message: string): void;
  /** Something is read. */
  report(): void;
  readonly takeErrors: () => readonly string[];
}

export interface FakeBuffer {
  readonly size: number;
  readonly bytes: Uint8Array;
  isDestroyed: boolean;
}

export function fakeGpu(): FakeGpu {
  const buffers: FakeBuffer[] = [];
  const unreported: string[] = [];
  const reported: string[] = [];
  const report = (): void => {
    reported.push(...unreported.splice(0));
  };
  const check = (buffer: FakeBuffer, offset: number, size: number): void => {
    if (buffer.isDestroyed) throw new Error("the buffer is destroyed");
    if (offset % 4 !== 0 || size % 4 !== 0) throw new Error(`a copy of ${size} bytes at ${offset}`);
    if (offset + size > buffer.size) throw new Error("a copy reaches beyond its buffer");
  };
  const device = {
    createBuffer: ({ size }: { readonly size: number }) => {
      const bytes = new Uint8Array(size);
      const buffer = {
        size,
        bytes,
        isDestroyed: false,
        mapAsync: () => {
          report();
          return Promise.resolve();
        },
        getMappedRange: () => bytes.buffer,
        destroy: () => {
          buffer.isDestroyed = true;
        },
      };
      buffers.push(buffer);
      return buffer;
    },
    createCommandEncoder: () => {
      const commands: (() => void)[] = [];
      return {
        copyBufferToBuffer: (
          from: FakeBuffer,
          fromAt: number,
          to: FakeBuffer,
          toAt: number,
          size: number,
        ) => {
          check(from, fromAt, size);
          check(to, toAt, size);
          commands.push(() => {
            to.bytes.set(from.bytes.subarray(fromAt, fromAt + size), toAt);
          });
        },
        finish: () => commands,
      };
    },
    queue: {
      submit: (lists: readonly (readonly (() => void)[])[]) => {
        for (const command of lists.flat()) command();
      },
      writeBuffer: (to: FakeBuffer, offset: number, bytes: Uint8Array) => {
        check(to, offset, bytes.byteLength);
        to.bytes.set(bytes, offset);
      },
    },
  };
  return {
    device: device as unknown as GPUDevice,
    fail: (message) => {
      unreported.push(message);
    },
    report,
    takeErrors: () => reported.splice(0),
    get liveBuffers() {
      return buffers.filter(({ isDestroyed }) => !isDestroyed).length;
    },
  };
}
