import { describe, expect, it } from "vitest";
import { countBuffers } from "./buffer-count.ts";

/** Sizes of buffers that were destroyed, by a device that knows nothing else. */
function device() {
  const destroyed: number[] = [];
  const fake = {
    createBuffer: ({ size }: GPUBufferDescriptor): GPUBuffer => {
      const buffer = { size, destroy: () => void destroyed.push(size) };
      // The part of a buffer that is looked at.
      return buffer as unknown as GPUBuffer;
    },
  };
  return { fake, destroyed };
}

describe("the buffers of a GPU", () => {
  it("count until they are destroyed, each once", () => {
    const { destroyed, fake } = device();
    const count = countBuffers(fake);
    const usage = 0;
    const first = fake.createBuffer({ size: 100, usage });
    const second = fake.createBuffer({ size: 30, usage });
    expect(count.bytes).toBe(130);
    first.destroy();
    first.destroy();
    expect(count.bytes).toBe(30);
    second.destroy();
    expect(count.bytes).toBe(0);
    expect(destroyed).toEqual([100, 100, 30]);
  });
});
