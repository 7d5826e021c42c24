import { describe, expect, it } from "vitest";
import { normalizeModelPath, pathProblem } from "./model-path.ts";

describe("normalizeModelPath", () => {
  it.each([
    ["1/model.onnx", "1/model.onnx"],
    ["1/./model.onnx", "1/model.onnx"],
    ["1//model.onnx", "1/model.onnx"],
    ["1/../labels.txt", "labels.txt"],
    ["../m/1/model.onnx", undefined],
    ["1/../../x", undefined],
    ["/1/model.onnx", undefined],
    ["1\\model.onnx", undefined],
    ["1/..", undefined],
    ["", undefined],
    [".", undefined],
  ])("%j -> %j", (path, normalized) => {
    expect(normalizeModelPath(path)).toBe(normalized);
    if (normalized !== undefined) expect(pathProblem(normalized)).toBeUndefined();
  });
});
