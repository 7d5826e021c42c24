import { parseConfigText } from "@naiad/model-config";
import type { ModelConfig } from "@naiad/model-config";
import { describe, expect, it } from "vitest";
import { sessionOptions } from "./session-options.ts";

function optionsOf(text: string): ReturnType<typeof sessionOptions> {
  return sessionOptions({
    config: configOf(text),
    target: { kind: "wasm" },
    externalFiles: [],
    optimization: "configured",
  });
}

function configOf(text: string): ModelConfig {
  return parseConfigText(`name: "m" ${text}`, { fileName: "config.pbtxt" });
}

function parameter(key: string, value: string): string {
  return `parameters { key: "${key}" value { string_value: "${value}" } }`;
}

describe("sessionOptions", () => {
  it("names one execution provider only", () => {
    expect(optionsOf("").executionProviders).toEqual(["wasm"]);
  });

  it.each([
    ["", "all"],
    ["optimization { graph { level: -1 } }", "basic"],
    ["optimization { graph { level: 1 } }", "extended"],
    ["optimization { graph { level: 2 } }", "disabled"],
  ])("takes the graph level of %j for %s", (text, level) => {
    expect(optionsOf(text).graphOptimizationLevel).toBe(level);
  });

  it("can be told to optimise nothing", () => {
    const request = { target: { kind: "wasm" }, externalFiles: [], optimization: "disabled" } as const;
    const options = sessionOptions({ ...request, config: configOf("optimization { graph { level: 1 } }") });
    expect(options.graphOptimizationLevel).toBe("disabled");
  });

  it("gives fresh objects each time, because the engine writes into them", () => {
    const config = configOf("");
    const request = {
      config,
      target: { kind: "wasm" },
      externalFiles: [],
      optimization: "configured",
    } as const;
    expect(sessionOptions(request).extra).not.toBe(sessionOptions(request).extra);
  });

  it("reads Triton's memory parameters", () => {
    const options = optionsOf(parameter("enable_mem_arena", "TRUE") + parameter("enable_mem_pattern", "0"));
    expect(options.enableCpuMemArena).toBe(true);
    expect(options.enableMemPattern).toBe(false);
    expect(() => optionsOf(parameter("enable_mem_arena", "maybe"))).toThrow(
      "failed to convert 'maybe' to boolean",
    );
  });

  it("takes an execution mode for the CPU, and refuses an unknown one with Triton's text", () => {
    expect(optionsOf("").executionMode).toBe("sequential");
    expect(optionsOf(parameter("execution_mode", "1")).executionMode).toBe("parallel");
    const onDevice = { target: { kind: "webnn" }, externalFiles: [], optimization: "configured" } as const;
    const parallel = configOf(parameter("execution_mode", "1"));
    expect(sessionOptions({ ...onDevice, config: parallel }).executionMode).toBe("sequential");
    expect(() => optionsOf(parameter("execution_mode", "2"))).toThrow(
      "Invalid configuration value provided. Expected values for  execution_mode are 0 or 1 but got 2 .",
    );
  });

  it("passes session entries on and keeps other parameters to itself", () => {
    const text = parameter("session.set_denormal_as_zero", "1") + parameter("my_own", "x");
    expect(optionsOf(text).extra).toEqual({ "session.set_denormal_as_zero": "1" });
  });

  it("refuses session entries that break the engine", () => {
    const key = "session.use_ort_model_bytes_for_initializers";
    expect(() => optionsOf(parameter(key, "1"))).toThrow(
      `parameter '${key}' of model 'm' is not allowed: the engine would read freed memory`,
    );
  });
});
