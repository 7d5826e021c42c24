import { describe, expect, it } from "vitest";
import { completeBackend } from "./backend.ts";
import type { ModelDirectory } from "./model-directory.ts";
import { parseConfigText } from "./text.ts";

function complete(text: string, ...filePaths: readonly string[]): Partial<Record<string, string>> {
  const directory: ModelDirectory = { name: "m", directories: ["1"], filePaths };
  const config = completeBackend(parseConfigText(text, { fileName: "config.pbtxt" }), directory);
  return { backend: config.backend, platform: config.platform, file: config.defaultModelFilename };
}

describe("completeBackend", () => {
  it.each([
    ["1/model.onnx", "onnxruntime", "onnxruntime_onnx", "model.onnx"],
    ["1/model.onnx/model.onnx", "onnxruntime", "onnxruntime_onnx", "model.onnx"],
    ["1/model.plan", "tensorrt", "tensorrt_plan", "model.plan"],
    ["1/model.graphdef", "tensorflow", "tensorflow_graphdef", "model.graphdef"],
    ["1/model.savedmodel/saved_model.pb", "tensorflow", "tensorflow_savedmodel", "model.savedmodel"],
    ["1/model.xml", "openvino", "", "model.xml"],
    ["1/model.pt", "pytorch", "pytorch_libtorch", ""],
    ["1/model.pt2", "pytorch", "torch_aoti", "model.pt2"],
    ["1/model.py", "python", "", "model.py"],
    ["1/model.js", "javascript", "", "model.js"],
  ])("finds the backend by %s", (path, backend, platform, file) => {
    expect(complete("", path)).toEqual({ backend, platform, file });
  });

  it("prefers formats in Triton's order", () => {
    expect(complete("", "1/model.py", "1/model.onnx", "1/model.plan")).toMatchObject({ backend: "tensorrt" });
  });

  it("takes a file for a directory or the other way round as another thing", () => {
    expect(complete("", "1/model.plan/x", "1/model.py")).toMatchObject({ backend: "python" });
    expect(complete("", "1/model.savedmodel", "1/model.py")).toMatchObject({ backend: "python" });
    expect(complete("", "1/model.js", "1/model.py")).toMatchObject({ backend: "python" });
  });

  it("goes from platform, backend or file name to the others", () => {
    const onnx = { backend: "onnxruntime", platform: "onnxruntime_onnx", file: "model.onnx" };
    expect(complete('platform: "onnxruntime_onnx"')).toEqual(onnx);
    expect(complete('backend: "onnxruntime"')).toEqual(onnx);
    expect(complete('default_model_filename: "model.onnx"')).toEqual(onnx);
    expect(complete('backend: "tensorflow"', "1/model.graphdef")).toMatchObject({
      platform: "tensorflow_graphdef",
    });
    expect(complete('backend: "pytorch"')).toEqual({
      backend: "pytorch",
      platform: "pytorch_libtorch",
      file: "model.pt",
    });
    expect(complete('platform: "libtorch"')).toEqual({ backend: "pytorch", platform: "libtorch", file: "" });
  });

  it("keeps what is given", () => {
    expect(complete('backend: "onnxruntime" default_model_filename: "net.onnx"', "1/model.py")).toEqual({
      backend: "onnxruntime",
      platform: "onnxruntime_onnx",
      file: "net.onnx",
    });
    expect(complete('default_model_filename: "net.bin"', "1/model.onnx")).toEqual({
      backend: "",
      platform: "",
      file: "net.bin",
    });
    expect(complete('platform: "ensemble"', "1/model.onnx")).toEqual({
      backend: "",
      platform: "ensemble",
      file: "",
    });
  });

  it("looks only into the directory that sorts first", () => {
    const config = completeBackend(parseConfigText("", { fileName: "config.pbtxt" }), {
      name: "m.custom",
      directories: [],
      filePaths: ["2/model.onnx", "10/readme.txt"],
    });
    expect(config.backend).toBe("custom");
  });

  it("reads a custom backend from the model's name and else gives up", () => {
    const empty = parseConfigText("", { fileName: "config.pbtxt" });
    const directory = { directories: ["1"], filePaths: [] };
    expect(completeBackend(empty, { name: "x.y.z", ...directory })).toMatchObject({
      name: "x.y.z",
      backend: "y.z",
      defaultModelFilename: "model.y.z",
    });
    expect(() => completeBackend(empty, { name: "plain", ...directory })).toThrow(
      "Invalid model name: Could not determine backend for model 'plain' with no backend in model configuration. " +
        "Expected model name of the form 'model.<backend_name>'.",
    );
  });

  it("does not change its argument", () => {
    const config = parseConfigText("", { fileName: "config.pbtxt" });
    completeBackend(config, { name: "m", directories: [], filePaths: ["1/model.onnx"] });
    expect(config).toMatchObject({ name: "", backend: "" });
  });
});
