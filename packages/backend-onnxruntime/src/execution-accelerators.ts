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

/** Parameters that are a choice. What stands for a bad one is the engine's own default, unless it is told here. */
const CHOICES: readonly {
  readonly accelerator: GpuAccelerator;
  readonly key: string;
  readonly choices: readonly string[];
  readonly otherwise?: string;
}[] = [
  { accelerator: "webgpu", key: "storage_buffer_cache_mode", choices: CACHE_MODES },
  { accelerator: "webgpu", key: "preferred_layout", choices: LAYOUTS },
  { accelerator: "webgpu", key: "validation_mode", choices: VALIDATION_MODES },
  // Without one WebNN would take the CPU.
  { accelerator: "webnn", key: "device_type", choices: DEVICE_TYPES, otherwise: "gpu" },
  { accelerator: "webnn", key: "power_preference", choices: POWER_PREFERENCES },
];

/** Parameters of the accelerator `webgpu`, else the model's own ones that begin with `webgpu.`. */
export function webGpuOptions(config: ModelConfig, device: GPUDevice): WebGpuOptions {
  const read = settingsOf(config, "webgpu");
  const storageBufferCacheMode = choiceOf(read("storage_buffer_cache_mode"), CACHE_MODES);
  const preferredLayout = choiceOf(read("preferred_layout"), LAYOUTS);
  const validationMode = choiceOf(read("validation_mode"), VALIDATION_MODES);
  const cpuNodes = read("force_cpu_node_names");
  return {
    name: "webgpu",
    device,
    ...(storageBufferCacheMode && { storageBufferCacheMode }),
    ...(preferredLayout && { preferredLayout }),
    ...(validationMode && { validationMode }),
    ...(cpuNodes && { forceCpuNodeNames: cpuNodes.text.split(",").map((name) => name.trim()) }),
  };
}

/** As for WebGPU. */
export function webNnOptions(config: ModelConfig): WebNnOptions {
  const read = settingsOf(config, "webnn");
  const powerPreference = choiceOf(read("power_preference"), POWER_PREFERENCES);
  return {
    name: "webnn",
    deviceType: choiceOf(read("device_type"), DEVICE_TYPES) ?? "gpu",
    ...(powerPreference && { powerPreference }),
  };
}

/** One line for each parameter that is none of its choices, on machines without such an accelerator too. */
export function badChoices(config: ModelConfig): readonly string[] {
  return CHOICES.flatMap(({ accelerator, key, choices, otherwise }) => {
    const [setting, ...hidden] = settingsFor(config, accelerator, key);
    const used = choiceOf(setting, choices) ?? otherwise;
    return [...(setting === undefined ? [] : [setting]), ...hidden]
      .filter(({ text }) => !choices.includes(text))
      .map(
        ({ text, label }) =>
          `${label} is '${text}', which is none of ${choices.join(", ")}: ` +
          `${used === undefined ? "the engine's default" : `'${used}'`} is used`,
      );
  });
}

function settingsOf(config: ModelConfig, name: GpuAccelerator): (key: string) => Setting | undefined {
  return (key) => settingsFor(config, name, key)[0];
}

/** All that the configuration says about one parameter; the first counts. */
function settingsFor(config: ModelConfig, name: GpuAccelerator, key: string): readonly Setting[] {
  const named = config.optimization?.executionAccelerators?.gpuExecutionAccelerator ?? [];
  const own: Parameters = named.find((accelerator) => accelerator.name === name)?.parameters ?? {};
  const text = Object.hasOwn(own, key) ? own[key] : undefined;
  const modelText = parameter(config, `${name}.${key}`);
  return [
    ...(text === undefined
      ? []
      : [{ text, label: `parameter '${key}' of the execution accelerator '${name}'` }]),
    ...(modelText === undefined ? [] : [{ text: modelText, label: `parameter '${name}.${key}'` }]),
  ];
}
