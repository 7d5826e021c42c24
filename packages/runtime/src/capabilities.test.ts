import { createFakeClock } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { probeCapabilities } from "./capabilities.ts";
import type { ProbedNavigator } from "./capabilities.ts";

interface AdapterTraits {
  readonly vendor?: string;
  readonly architecture?: string;
  readonly isFallbackAdapter?: boolean;
}

// Only what the probe reads of it.
function adapter({ vendor = "v", architecture = "a", ...rest }: AdapterTraits = {}): GPUAdapter {
  return {
    info: { vendor, architecture, device: "", description: "d", ...rest },
    features: new Set(["shader-f16", "bgra8unorm-storage"]),
    limits: { maxBufferSize: 1, maxStorageBufferBindingSize: 2, maxStorageBuffersPerShaderStage: 3 },
  } as unknown as GPUAdapter;
}

function gpu(answers: Readonly<Record<string, () => Promise<GPUAdapter | null>>>): ProbedNavigator {
  const requestAdapter = (options: GPURequestAdapterOptions = {}): Promise<GPUAdapter | null> =>
    answers[options.powerPreference ?? ""]?.() ?? Promise.resolve(null);
  return { gpu: { requestAdapter } };
}

async function probe(navigator: ProbedNavigator) {
  const clock = createFakeClock();
  const probed = probeCapabilities({ navigator, crossOriginIsolated: true, clock, timeoutMs: 1000 });
  await clock.drain();
  return probed;
}

const never = () => new Promise<never>(() => undefined);

describe("probeCapabilities", () => {
  it("reports an old platform", async () => {
    expect(await probe({})).toEqual({
      gpus: [],
      crossOriginIsolated: true,
      hardwareConcurrency: 1,
      wasmMemoryLimitBytes: 2 ** 32,
    });
  });

  it("reports what the platform tells", async () => {
    const storage = { estimate: () => Promise.resolve({ quota: 100, usage: 30 }) };
    expect(await probe({ hardwareConcurrency: 8, deviceMemory: 4, storage })).toMatchObject({
      hardwareConcurrency: 8,
      deviceMemoryBytes: 2 ** 32,
      storageAvailableBytes: 70,
    });
  });

  it("describes an adapter", async () => {
    const one = () => Promise.resolve(adapter());
    const { gpus } = await probe(gpu({ "high-performance": one, "low-power": one }));
    expect(gpus).toEqual([
      {
        index: 0,
        vendor: "v",
        architecture: "a",
        description: "d",
        isFallback: false,
        features: ["bgra8unorm-storage", "shader-f16"],
        maxBufferSize: 1,
        maxStorageBufferBindingSize: 2,
        maxStorageBuffersPerShaderStage: 3,
      },
    ]);
  });

  const fast = () => Promise.resolve(adapter({ vendor: "fast" }));
  const frugal = () => Promise.resolve(adapter({ vendor: "frugal" }));
  const none = () => Promise.resolve(null);
  const fails = () => Promise.reject(new Error("blocked"));
  const throws = (): Promise<null> => {
    throw new Error("blocked");
  };
  it.each([
    ["two adapters", fast, frugal, ["fast", "frugal"]],
    ["one adapter for both preferences", fast, fast, ["fast"]],
    ["only the low-power one", none, frugal, ["frugal"]],
    ["no adapter", none, none, []],
    ["a preference that fails", fails, frugal, ["frugal"]],
    ["a call that throws", throws, frugal, ["frugal"]],
    ["a preference that is never answered", never, frugal, ["frugal"]],
  ])("counts %s", async (_case, highPerformance, lowPower, expected) => {
    const { gpus } = await probe(gpu({ "high-performance": highPerformance, "low-power": lowPower }));
    expect(gpus.map(({ vendor }) => vendor)).toEqual(expected);
    expect(gpus.map(({ index }) => index)).toEqual(expected.map((_, index) => index));
  });

  it("knows a software adapter by either flag", async () => {
    const older = Object.assign(adapter(), { isFallbackAdapter: true });
    for (const found of [adapter({ isFallbackAdapter: true }), older]) {
      const { gpus } = await probe(gpu({ "high-performance": () => Promise.resolve(found) }));
      expect(gpus.map(({ isFallback }) => isFallback)).toEqual([true]);
    }
  });

  it("does without a storage estimate that is never given", async () => {
    expect(await probe({ storage: { estimate: never } })).not.toHaveProperty("storageAvailableBytes");
  });
});
