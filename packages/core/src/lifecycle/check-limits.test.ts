import { parseConfigText } from "@naiad/model-config";
import type { Capabilities, GpuAdapter } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { ModelFile } from "../ports.ts";
import type { LimitsInput } from "./check-limits.ts";
import { checkLimits, formatBytes, gpuProblem } from "./check-limits.ts";

const GIB = 2 ** 30;
const MACHINE: Capabilities = {
  gpus: [],
  crossOriginIsolated: true,
  hardwareConcurrency: 4,
  wasmMemoryLimitBytes: 4 * GIB,
};

function file(path: string, size: number): ModelFile {
  return { path, size, sha256: "", chunks: [] };
}

function check(changes: Partial<LimitsInput>): ReturnType<typeof checkLimits> {
  return checkLimits({
    files: [file("1/model.onnx", 1000)],
    missingBytes: 0,
    devices: new Set(["cpu"]),
    capabilities: MACHINE,
    ...changes,
  });
}

describe("checkLimits", () => {
  it("lets a small model pass", () => {
    expect(check({})).toEqual({ problems: [], warnings: [] });
  });

  it("refuses an ONNX file of 2 GiB, wherever it is to run", () => {
    const expected =
      "file '1/model.onnx' has 2.0 GiB, but an ONNX file can have at most 2.0 GiB: keep its weights as external data";
    for (const device of ["cpu", "gpu"] as const) {
      const limits = check({ files: [file("1/model.onnx", 2 * GIB)], devices: new Set([device]) });
      expect(limits.problems).toEqual([expected]);
    }
    expect(check({ files: [file("1/model.onnx", 2 * GIB - 1)] }).problems).toEqual([]);
  });

  it("refuses on the CPU what does not fit into WebAssembly memory", () => {
    const files = [file("1/model.onnx", 1000), file("1/weights.bin", 4 * GIB)];
    expect(check({ files }).problems).toEqual([
      "its files have 4.0 GiB, but an instance on the CPU has at most 4.0 GiB of WebAssembly memory for weights and " +
        "tensors together: use a smaller or quantised model, or KIND_GPU",
    ]);
    expect(check({ files, devices: new Set(["gpu"]) }).problems).toEqual([]);
  });

  it("warns when storage is short, because the rest lives in memory", () => {
    const capabilities = { ...MACHINE, storageAvailableBytes: GIB };
    expect(check({ capabilities, missingBytes: GIB })).toEqual({ problems: [], warnings: [] });
    expect(check({ capabilities, missingBytes: 1.5 * GIB })).toEqual({
      problems: [],
      warnings: [
        "1.5 GiB must be downloaded, but the browser grants only 1.0 GiB of storage: what does not fit stays in memory " +
          "and is downloaded again on the next visit",
      ],
    });
    expect(check({ missingBytes: 100 * GIB }).warnings).toEqual([]);
  });
});

describe("gpuProblem", () => {
  const adapter: GpuAdapter = {
    index: 0,
    vendor: "",
    architecture: "",
    description: "",
    isFallback: false,
    features: [],
    maxBufferSize: 1024,
    maxStorageBufferBindingSize: 512,
    maxStorageBuffersPerShaderStage: 8,
  };

  function problem(output: string, maxBatchSize = 0, on: GpuAdapter = adapter): string | undefined {
    const text = `max_batch_size: ${String(maxBatchSize)} input { name: "x" data_type: TYPE_FP32 dims: [1] } output { name: "y" ${output} }`;
    return gpuProblem(parseConfigText(text, { fileName: "" }), on);
  }

  it.each([
    ["a tensor that fits", "data_type: TYPE_FP32 dims: [128]", 0, undefined],
    [
      "a tensor that is too large",
      "data_type: TYPE_FP32 dims: [129]",
      0,
      "tensor 'y' can have 516 bytes, but a buffer of the GPU has at most 512 bytes",
    ],
    [
      "a tensor that is too large only with a full batch",
      "data_type: TYPE_UINT8 dims: [200]",
      4,
      "tensor 'y' can have 800 bytes, but a buffer of the GPU has at most 512 bytes",
    ],
    ["a tensor of unknown size", "data_type: TYPE_FP32 dims: [-1, 1000]", 0, undefined],
    ["strings", "data_type: TYPE_STRING dims: [1000]", 0, undefined],
    [
      "half floats without the feature",
      "data_type: TYPE_FP16 dims: [1]",
      0,
      "tensor 'y' is TYPE_FP16, for which the GPU lacks the feature shader-f16",
    ],
  ])("judges %s", (_what, output, maxBatchSize, expected) => {
    expect(problem(output, maxBatchSize)).toBe(expected);
  });

  it("lets half floats pass where the GPU has them", () => {
    const able = { ...adapter, features: ["shader-f16"] };
    expect(problem("data_type: TYPE_FP16 dims: [1]", 0, able)).toBeUndefined();
  });
});

describe("formatBytes", () => {
  it.each([
    [0, "0 bytes"],
    [1023, "1023 bytes"],
    [1024, "1.0 KiB"],
    [1.5 * 2 ** 20, "1.5 MiB"],
    [3 * 2 ** 40, "3.0 TiB"],
    [2 ** 53, "8192.0 TiB"],
  ])("%d -> %s", (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });
});
