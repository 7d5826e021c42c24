import { fixtureModels } from "@naiad/testing/fixture-models";
import * as ort from "onnxruntime-web";
import { describe, expect, it } from "vitest";
import { ENGINE_VERSION, HIGHEST_OPSET } from "./engine-version.ts";

describe("the installed engine", () => {
  it("has the version that is told", () => {
    expect(ort.env.versions.web).toBe(ENGINE_VERSION);
  });

  it("reads models up to the opset that is told", async () => {
    const model = fixtureModels().find(({ name }) => name === "add_sub_float")?.files["1/model.onnx"];
    if (!(model instanceof Uint8Array)) throw new Error("no model");
    ort.env.wasm.numThreads = 1;
    await expect(ort.InferenceSession.create(withOpset(model, HIGHEST_OPSET))).resolves.toBeDefined();
    await expect(ort.InferenceSession.create(withOpset(model, HIGHEST_OPSET + 1))).rejects.toThrow(
      `ai.onnx is till opset ${HIGHEST_OPSET}`,
    );
  });
});

/** `opset_import`, field 8 of the model: an empty domain and a version of one byte. */
function withOpset(model: Uint8Array, version: number): Uint8Array {
  const changed = model.slice();
  const at = changed.findIndex((_, index) =>
    [0x42, 4, 0x0a, 0, 0x10].every((byte, n) => changed[index + n] === byte),
  );
  changed[at + 5] = version;
  return changed;
}
