import type { ModelConfig } from "@naiad/model-config";
import type { InferenceSession } from "onnxruntime-web";
import type { Setting } from "./config-parameters.ts";
import { choiceOf, parameter } from "./config-parameters.ts";

type WebGpuOptions = InferenceSession.WebGpuExecutionProviderOption;
type WebNnOptions = InferenceSession.WebNNOptionsWithoutMLContext;
type Parameters = Readonly<Record<string, string>>;

/** What a `gpu_execution_accelerator` can be in a browser. */
export type GpuAccelerator = "webgpu" | "webnn";

/** Names and parameters that each list of `execution_accelerators` knows. */
export const ACCELERATORS: Readonly<Record<"gpu" | "cpu", Readonly<Record<string, readonly string[]>>>> = {
  gpu: {
    webgpu: ["storage_buffer_cache_mode", "preferred_layout", "validation_mode", "force_cpu_node_names"],
    webnn: ["device_type", "power_preference"],
  },
  // There is one engine on the CPU, and its settings are the model's own parameters.
  cpu: { wasm: [] },
};

/**
 * What an instance on a GPU may run on, in the order in which it is to be tried: as the configuration names them, and
 * WebGPU last where it does not.
 */
export function gpuAccelerators(config: Pick<ModelConfig, "optimization">): readonly GpuAccelerator[] {
  const named = config.optimization?.executionAccelerators?.gpuExecutionAccelerator ?? [];
  const usable = named.map(({ name }) => name).filter(isGpuAccelerator);
  return [...new Set<GpuAccelerator>([...usable, "webgpu"])];
}

function isGpuAccelerator(name: string): name is GpuAccelerator {
  return Object.hasOwn(ACCELERATORS.gpu, name);
}

const CACHE_MODES = ["disabled", "lazyRelease", "simple", "bucket"] as const;
const LAYOUTS = ["NCHW", "NHWC"] as const;
const VALIDATION_MODES = ["disabled", "wgpuOnly", "basic", "full"] as const;
const DEVICE_TYPES = ["gpu", "npu", "cpu"] as const;
const POWER_PREFERENCES = ["default", "low-power", "high-performance"] as const;

/** Parameters of the accelerator `webgpu`, else the model's own ones that begin with `webgpu.`. INVALID_ARG for bad values. */
export function webGpuOptions(config: ModelConfig, device: GPUDevice): WebGpuOptions {
  const read = settingsOf(config, "webgpu");
  const cacheMode = read("storage_buffer_cache_mode");
  const layout = read("preferred_layout");
  const validation = read("validation_mode");
  const cpuNodes = read("force_cpu_node_names");
  return {
    name: "webgpu",
    device,
    ...(cacheMode && { storageBufferCacheMode: choiceOf(config, cacheMode, CACHE_MODES) }),
    ...(layout && { preferredLayout: choiceOf(config, layout, LAYOUTS) }),
    ...(validation && { validationMode: choiceOf(config, validation, VALIDATION_MODES) }),
    ...(cpuNodes && { forceCpuNodeNames: cpuNodes.text.split(",").map((name) => name.trim()) }),
  };
}

/** As for WebGPU. Without a device type WebNN would take the CPU. */
export function webNnOptions(config: ModelConfig): WebNnOptions {
  const read = settingsOf(config, "webnn");
  const deviceType = read("device_type");
  const powerPreference = read("power_preference");
  return {
    name: "webnn",
    deviceType: deviceType === undefined ? "gpu" : choiceOf(config, deviceType, DEVICE_TYPES),
    ...(powerPreference && { powerPreference: choiceOf(config, powerPreference, POWER_PREFERENCES) }),
  };
}

function settingsOf(config: ModelConfig, name: GpuAccelerator): (key: string) => Setting | undefined {
  const named = config.optimization?.executionAccelerators?.gpuExecutionAccelerator ?? [];
  const own: Parameters = named.find((accelerator) => accelerator.name === name)?.parameters ?? {};
  return (key) => {
    const text = Object.hasOwn(own, key) ? own[key] : undefined;
    if (text !== undefined)
      return { text, label: `parameter '${key}' of the execution accelerator '${name}'` };
    const modelText = parameter(config, `${name}.${key}`);
    return modelText === undefined ? undefined : { text: modelText, label: `parameter '${name}.${key}'` };
  };
}
