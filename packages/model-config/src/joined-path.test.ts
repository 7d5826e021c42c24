import { describe, expect, it } from "vitest";
import { joinedPath } from "./joined-path.ts";

describe("joinedPath", () => {
  it.each([
    [["labels.txt"], "labels.txt"],
    [["./labels.txt"], "labels.txt"],
    [["1/../1/x"], "1/x"],
    [["1/../labels.txt"], "labels.txt"],
    [["3", "sub/../model.onnx"], "3/model.onnx"],
    [["warmup", "/data.raw"], "warmup/data.raw"],
    [["warmup//", "a//b/"], "warmup/a/b"],
    [["warmup", "../1/x"], "1/x"],
    [["a\\b"], "a\\b"],
    [["../m/x"], undefined],
    [["1/../../m/1/x"], undefined],
    [["warmup", "../../x"], undefined],
    [["1", ".."], undefined],
    [["."], undefined],
    [[""], undefined],
  ])("%j -> %j", (parts, joined) => {
    expect(joinedPath(...parts)).toBe(joined);
  });
});
