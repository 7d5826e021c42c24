import { describe, expect, it } from "vitest";
import { CPU, GPU, setUp } from "../../test/scripted-workers.ts";

describe("the report on instance workers", () => {
  const NO_MEMORY = { wasmBytes: 0, gpuBufferBytes: 0 };

  it("names those that live, with what each has told of its memory", async () => {
    const { clock, create, pool, spawned } = setUp();
    await create(GPU, "a");
    await create({ ...CPU, name: "cpu:m:1:m_0" }, "b");
    spawned[0]?.tellMemory({ wasmBytes: 1, gpuBufferBytes: 2 });
    await clock.settle();
    spawned[0]?.tellMemory({ wasmBytes: 10, gpuBufferBytes: 20 });
    await clock.settle();
    expect(pool.report()).toEqual({
      workers: [
        { kind: "gpu", name: "gpu:0", wasmBytes: 10, gpuBufferBytes: 20 },
        { kind: "cpu", name: "cpu:m:1:m_0", ...NO_MEMORY },
      ],
      workerStarts: { cpu: 1, gpu: 1, javascript: 0 },
    });
  });

  it("counts the one that takes the place of another, and forgets that one", async () => {
    const { clock, create, pool, spawned } = setUp();
    await create(GPU, "a");
    spawned[0]?.tellMemory({ wasmBytes: 10, gpuBufferBytes: 20 });
    await clock.settle();
    spawned[0]?.crash("out of memory");
    await clock.settle();
    expect(pool.report()).toEqual({ workers: [], workerStarts: { cpu: 0, gpu: 1, javascript: 0 } });
    await create(GPU, "b");
    expect(pool.report()).toEqual({
      workers: [{ kind: "gpu", name: "gpu:0", ...NO_MEMORY }],
      workerStarts: { cpu: 0, gpu: 2, javascript: 0 },
    });
  });

  it("tells those of models in JavaScript apart", async () => {
    const { create, pool } = setUp();
    await create({ ...CPU, engine: "javascript" }, "a");
    expect(pool.report().workerStarts).toEqual({ cpu: 0, gpu: 0, javascript: 1 });
    expect(pool.report().workers).toMatchObject([{ kind: "javascript" }]);
  });
});
