import { InferenceError } from "@naiad/protocol";
import { createServerBench, echoedValue, echoModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";

describe("devices", () => {
  const gpu = {
    index: 0,
    vendor: "acme",
    architecture: "",
    description: "",
    isFallback: false,
    features: [],
    maxBufferSize: 2 ** 28,
    maxStorageBufferBindingSize: 2 ** 28,
    maxStorageBuffersPerShaderStage: 8,
  };
  const onGpu = "instance_group { kind: KIND_GPU }";
  const refuseGpu = {
    onCreate: ({ device }: { readonly device: { readonly kind: string } }) =>
      device.kind === "gpu"
        ? ({
            kind: "fail",
            error: new InferenceError("UNSUPPORTED", "no kernel for StringNormalizer"),
          } as const)
        : ({ kind: "create" } as const),
  };

  it("a GPU that cannot run the model gives way to the CPU, with a note in log, index and report", async () => {
    const bench = createServerBench({
      models: { m: echoModel([1], onGpu) },
      capabilities: { gpus: [gpu] },
      backend: refuseGpu,
    });
    await bench.start();
    await bench.load("m");
    const note = "runs on the CPU because the GPU cannot run it: no kernel for StringNormalizer";
    expect(bench.server.instances()).toMatchObject([{ instanceName: "m_0_0", state: "ready", note }]);
    expect(await bench.index()).toEqual([`m:1 READY instance m_0_0 ${note}`]);
    expect(bench.logger.lines).toContainEqual({
      level: "warning",
      message: `instance m_0_0 of model m ${note}`,
    });
    expect(bench.backend.creationCount).toBe(2);
    bench.backend.lose("m_0_0");
    await bench.until(() => bench.server.instances()[0]?.replacements === 1);
    // The replacement does not ask the GPU again.
    expect(bench.backend.creationCount).toBe(3);
    expect(echoedValue(await bench.infer("m", 1))).toBe(1);
  });

  it("an option makes that an error for KIND_GPU", async () => {
    const bench = createServerBench({
      models: { m: echoModel([1], onGpu) },
      capabilities: { gpus: [gpu] },
      options: { gpuFallback: "error" },
      backend: refuseGpu,
    });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow("Unsupported: no kernel for StringNormalizer");
    expect(bench.liveInstances).toBe(0);
  });

  it("other errors of a GPU are errors", async () => {
    const bench = createServerBench({
      models: { m: echoModel([1], onGpu) },
      capabilities: { gpus: [gpu] },
      backend: { onCreate: () => ({ kind: "fail", error: new InferenceError("INTERNAL", "out of memory") }) },
    });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow("Internal: out of memory");
    expect(bench.backend.creationCount).toBe(1);
  });

  it("a tensor that no buffer of the GPU can hold sends the model to the CPU", async () => {
    const bench = createServerBench({
      models: { m: echoModel([1], onGpu) },
      capabilities: { gpus: [{ ...gpu, maxBufferSize: 8 }] },
    });
    await bench.start();
    await bench.load("m");
    expect(bench.server.instances()).toMatchObject([
      { note: "runs on the CPU: tensor 'x' can have 16 bytes, but a buffer of the GPU has at most 8 bytes" },
    ]);
    expect(bench.logger.lines.map(({ level }) => level)).toContain("warning");
  });

  it("a GPU that is not there is refused before anything is downloaded", async () => {
    const bench = createServerBench({
      models: { m: echoModel([1], "instance_group { kind: KIND_GPU gpus: [1] }") },
      capabilities: { gpus: [gpu] },
    });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow(
      "instance group m_0 of model m specifies invalid or unsupported gpu id 1.",
    );
    expect(bench.repository.reads).toEqual(["m/config.pbtxt"]);
  });

  it("files that cannot fit are refused before they are downloaded", async () => {
    const bench = createServerBench({
      models: { m: echoModel() },
      capabilities: { wasmMemoryLimitBytes: 9 },
    });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow(
      "Unsupported: unable to load model 'm': its files have 9 bytes, but an instance on the CPU has at most 9 bytes of WebAssembly memory",
    );
    expect(bench.repository.reads).toEqual(["m/config.pbtxt"]);
  });

  it("little storage is only a warning", async () => {
    const bench = createServerBench({
      models: { m: echoModel() },
      capabilities: { storageAvailableBytes: 1 },
    });
    await bench.start();
    await bench.load("m");
    const [, warning] = bench.logger.lines;
    expect(warning?.level).toBe("warning");
    expect(warning?.message).toContain("9 bytes must be downloaded");
  });
});
