import { parseConfigText } from "@naiad/model-config";
import { describe, expect, it } from "vitest";
import { configWarnings } from "./config-warnings.ts";

function warningsOf(text: string): readonly string[] {
  return configWarnings(parseConfigText(`name: "m" ${text}`, { fileName: "config.pbtxt" }));
}

function parameter(key: string, value = "1"): string {
  return `parameters { key: "${key}" value { string_value: "${value}" } }`;
}

describe("configWarnings", () => {
  it("has none for what has an effect", () => {
    const known = ["enable_mem_arena", "session.x", "webgpu.force_cpu_node_names", "verify"];
    const choices = parameter("webgpu.preferred_layout", "NCHW") + parameter("webnn.device_type", "npu");
    const accelerators =
      'gpu_execution_accelerator { name: "webgpu" parameters { key: "validation_mode" value: "full" } } ' +
      'cpu_execution_accelerator { name: "wasm" }';
    expect(
      warningsOf(
        `${known.map((key) => parameter(key)).join(" ")} ${choices} optimization { graph { level: 1 } execution_accelerators { ${accelerators} } }`,
      ),
    ).toEqual([]);
  });

  it("names parameters that nobody reads", () => {
    expect(warningsOf(parameter("gpu_mem_limit"))).toEqual([
      "model 'm': parameter 'gpu_mem_limit' is without effect here",
    ]);
    expect(warningsOf(["a", "webgpu.b", "c"].map((key) => parameter(key)).join(" "))).toEqual([
      "model 'm': parameters 'a', 'webgpu.b' and 'c' are without effect here",
    ]);
  });

  it("names accelerators that there are not, and their parameters", () => {
    const accelerators =
      'gpu_execution_accelerator { name: "tensorrt" } ' +
      'gpu_execution_accelerator { name: "webnn" parameters { key: "speed" value: "11" } } ' +
      'cpu_execution_accelerator { name: "openvino" }';
    expect(
      warningsOf(`optimization { execution_accelerators { ${accelerators} } cuda { graphs: true } }`),
    ).toEqual([
      "model 'm': the gpu execution accelerator 'tensorrt' is not to be had in a browser, where there is webgpu and webnn",
      "model 'm': parameter 'speed' of the gpu execution accelerator 'webnn' is without effect here",
      "model 'm': the cpu execution accelerator 'openvino' is not to be had in a browser, where there is wasm",
      "model 'm': optimization.cuda has no effect in a browser",
    ]);
  });

  it.each([
    [
      parameter("webgpu.preferred_layout", "X"),
      "parameter 'webgpu.preferred_layout' is 'X', which is none of NCHW, NHWC: the engine's default is used",
    ],
    [
      parameter("webgpu.validation_mode", ""),
      "parameter 'webgpu.validation_mode' is '', which is none of disabled, wgpuOnly, basic, full: the engine's default is used",
    ],
    [
      parameter("webnn.device_type", "tpu"),
      "parameter 'webnn.device_type' is 'tpu', which is none of gpu, npu, cpu: 'gpu' is used",
    ],
    [
      `optimization { execution_accelerators { gpu_execution_accelerator { name: "webnn"
        parameters { key: "device_type" value: "npu" } } } } ${parameter("webnn.device_type", "tpu")}`,
      "parameter 'webnn.device_type' is 'tpu', which is none of gpu, npu, cpu: 'npu' is used",
    ],
    [
      `optimization { execution_accelerators { gpu_execution_accelerator { name: "webnn"
        parameters { key: "power_preference" value: "much" } } } }`,
      "parameter 'power_preference' of the execution accelerator 'webnn' is 'much', which is none of default, " +
        "low-power, high-performance: the engine's default is used",
    ],
    [
      "optimization { graph { level: 5 } }",
      "optimization.graph.level is 5, which is none of -1, 0, 1, 2: 0 is used, all optimizations",
    ],
  ])("names a value that is none of its choices, and what is used: %s", (text, warning) => {
    expect(warningsOf(text)).toEqual([`model 'm': ${warning}`]);
  });
});
