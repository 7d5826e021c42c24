import { parseConfigText } from "@naiad/model-config";
import type { ModelConfig } from "@naiad/model-config";
import { describe, expect, it } from "vitest";
import { gpuAccelerators, webGpuOptions, webNnOptions } from "./execution-accelerators.ts";

const DEVICE = {} as GPUDevice;

function configOf(text: string): ModelConfig {
  return parseConfigText(`name: "m" ${text}`, { fileName: "config.pbtxt" });
}

/** `parameters` as the inside of the accelerator's message. */
function onGpu(...accelerators: readonly (readonly [name: string, parameters?: string])[]): string {
  const entries = accelerators.map(
    ([name, parameters = ""]) => `gpu_execution_accelerator { name: "${name}" ${parameters} }`,
  );
  return `optimization { execution_accelerators { ${entries.join(" ")} } }`;
}

function pair(key: string, value: string): string {
  return `parameters { key: "${key}" value: "${value}" }`;
}

function modelParameter(key: string, value: string): string {
  return `parameters { key: "${key}" value { string_value: "${value}" } }`;
}

describe("gpuAccelerators", () => {
  it.each([
    ["", ["webgpu"]],
    [onGpu(["webgpu"]), ["webgpu"]],
    [onGpu(["webnn"]), ["webnn", "webgpu"]],
    [onGpu(["webgpu"], ["webnn"]), ["webgpu", "webnn"]],
    [onGpu(["tensorrt"], ["toString"], ["webnn"], ["webnn"]), ["webnn", "webgpu"]],
  ])("of %j are %j", (text, expected) => {
    expect(gpuAccelerators(configOf(text))).toEqual(expected);
  });
});

describe("webGpuOptions", () => {
  it("are the device alone where nothing is said", () => {
    expect(webGpuOptions(configOf(""), DEVICE)).toEqual({ name: "webgpu", device: DEVICE });
  });

  it("read the accelerator's parameters, and else the model's own", () => {
    const text =
      onGpu(["webgpu", pair("preferred_layout", "NCHW") + pair("force_cpu_node_names", "a, b")]) +
      modelParameter("webgpu.preferred_layout", "NHWC") +
      modelParameter("webgpu.storage_buffer_cache_mode", "simple");
    expect(webGpuOptions(configOf(text), DEVICE)).toEqual({
      name: "webgpu",
      device: DEVICE,
      preferredLayout: "NCHW",
      storageBufferCacheMode: "simple",
      forceCpuNodeNames: ["a", "b"],
    });
  });

  it("leave what is no choice to the engine", () => {
    const text =
      onGpu(["webgpu", pair("validation_mode", "some")]) + modelParameter("webgpu.preferred_layout", "NCWH");
    expect(webGpuOptions(configOf(text), DEVICE)).toEqual({ name: "webgpu", device: DEVICE });
  });
});

describe("webNnOptions", () => {
  it("ask for a GPU unless told otherwise", () => {
    expect(webNnOptions(configOf(""))).toEqual({ name: "webnn", deviceType: "gpu" });
    const text = onGpu(["webnn", pair("device_type", "npu") + pair("power_preference", "low-power")]);
    expect(webNnOptions(configOf(text))).toEqual({
      name: "webnn",
      deviceType: "npu",
      powerPreference: "low-power",
    });
    expect(webNnOptions(configOf(modelParameter("webnn.device_type", "tpu")))).toEqual({
      name: "webnn",
      deviceType: "gpu",
    });
  });
});
