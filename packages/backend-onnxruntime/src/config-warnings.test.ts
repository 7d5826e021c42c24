import { parseConfigText } from "@naiad/model-config";
import { describe, expect, it } from "vitest";
import { configWarnings } from "./config-warnings.ts";

function warningsOf(text: string): readonly string[] {
  return configWarnings(parseConfigText(`name: "m" ${text}`, { fileName: "config.pbtxt" }));
}

function parameter(key: string): string {
  return `parameters { key: "${key}" value { string_value: "1" } }`;
}

describe("configWarnings", () => {
  it("has none for what has an effect", () => {
    const known = ["enable_mem_arena", "session.x", "webgpu.preferred_layout", "webnn.device_type", "verify"];
    const accelerators =
      'gpu_execution_accelerator { name: "webgpu" parameters { key: "validation_mode" value: "full" } } ' +
      'cpu_execution_accelerator { name: "wasm" }';
    expect(
      warningsOf(
        `${known.map(parameter).join(" ")} optimization { graph { level: 1 } execution_accelerators { ${accelerators} } }`,
      ),
    ).toEqual([]);
  });

  it("names parameters that nobody reads", () => {
    expect(warningsOf(parameter("gpu_mem_limit"))).toEqual([
      "model 'm': parameter 'gpu_mem_limit' is without effect here",
    ]);
    expect(warningsOf(["a", "webgpu.b", "c"].map(parameter).join(" "))).toEqual([
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
});
