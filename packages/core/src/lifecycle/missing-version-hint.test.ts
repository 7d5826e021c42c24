import { expect, it } from "vitest";
import { missingVersionHint } from "./missing-version-hint.ts";

function modelOf(...paths: readonly string[]): Parameters<typeof missingVersionHint>[0] {
  return {
    name: "m",
    directories: [],
    files: paths.map((path) => ({ path, size: 0, sha256: "", chunks: [] })),
  };
}

const NONE = { versions: [], absent: [] };

it("names a model file that lies beside the configuration", () => {
  const hint = (file: string): string => missingVersionHint(modelOf("config.pbtxt", file), NONE);
  expect(hint("model.onnx")).toBe(
    "the directory of model 'm' has no version directory: put 'model.onnx' into '1/'",
  );
  expect(hint("model.onnx/model.onnx")).toContain("put 'model.onnx' into '1/'");
  expect(hint("labels.txt")).toContain("put the model file into '1/'");
});

it("says which versions are there where the policy wants others", () => {
  expect(missingVersionHint(modelOf("1/model.onnx"), { versions: [1, 2], absent: [7n] })).toBe(
    "the version policy asks for 7, and the directory has 1, 2",
  );
});

it("asks for an empty directory where an ensemble has none", () => {
  expect(missingVersionHint(modelOf("config.pbtxt"), { ...NONE, isEnsemble: true })).toBe(
    "the directory of model 'm' has no version directory, and an ensemble needs one too: make an empty '1/'",
  );
});
