import { parseConfigText } from "@naiad/model-config";
import { describe, expect, it } from "vitest";
import type { ModelLocation } from "./model-files.ts";
import { externalFilePaths, onnxFilePath } from "./model-files.ts";

function locationOf(paths: readonly string[], config = ""): ModelLocation {
  const files = paths.map((path) => ({ path, size: 1, sha256: "", chunks: [] }));
  return {
    modelName: "m",
    version: 3,
    config: parseConfigText(`name: "m" ${config}`, { fileName: "config.pbtxt" }),
    files,
  };
}

describe("onnxFilePath", () => {
  it("is model.onnx in the version's directory", () => {
    expect(onnxFilePath(locationOf(["1/model.onnx", "3/model.onnx"]))).toBe("3/model.onnx");
  });

  it("follows default_model_filename", () => {
    const location = locationOf(["3/net.onnx"], 'default_model_filename: "net.onnx"');
    expect(onnxFilePath(location)).toBe("3/net.onnx");
  });

  it.each(["./net.onnx", "sub/../net.onnx", "/net.onnx", "../3/net.onnx"])(
    "works out '%s' as Triton's joined paths are",
    (name) => {
      const location = locationOf(["3/net.onnx"], `default_model_filename: "${name}"`);
      expect(onnxFilePath(location)).toBe("3/net.onnx");
    },
  );

  it.each(["../1/net.onnx", "../net.onnx", "../../x/net.onnx", ".."])(
    "refuses '%s', which is no file of the version",
    (name) => {
      const paths = ["1/net.onnx", "3/net.onnx", "net.onnx"];
      expect(() => onnxFilePath(locationOf(paths, `default_model_filename: "${name}"`))).toThrow(
        `default_model_filename '${name}' of model 'm' is outside of the version's directory`,
      );
    },
  );

  it("looks into a directory of that name", () => {
    expect(onnxFilePath(locationOf(["3/model.onnx/model.onnx"]))).toBe("3/model.onnx/model.onnx");
  });

  it("says what is missing", () => {
    expect(() => onnxFilePath(locationOf(["1/model.onnx"]))).toThrow(
      "unable to find '3/model.onnx' for model instance 'm'",
    );
  });
});

describe("externalFilePaths", () => {
  it("lie beside the model, under the names that the model uses", () => {
    const location = locationOf(["3/model.onnx/model.onnx", "3/model.onnx/data/w.bin"]);
    expect(
      externalFilePaths(location, "3/model.onnx/model.onnx", {
        externalFiles: ["./data/w.bin", "data/x/../w.bin"],
      }),
    ).toEqual([
      { location: "./data/w.bin", path: "3/model.onnx/data/w.bin" },
      { location: "data/x/../w.bin", path: "3/model.onnx/data/w.bin" },
    ]);
  });

  it("are never looked for elsewhere", () => {
    const location = locationOf(["3/model.onnx", "1/w.bin"]);
    expect(() => externalFilePaths(location, "3/model.onnx", { externalFiles: ["../1/w.bin"] })).toThrow(
      "unable to find '1/w.bin' for model instance 'm': '3/model.onnx' keeps weights in it",
    );
    expect(() => externalFilePaths(location, "3/model.onnx", { externalFiles: ["../../w.bin"] })).toThrow(
      "unable to find '3/../../w.bin' for model instance 'm': '3/model.onnx' keeps weights in it",
    );
  });
});
