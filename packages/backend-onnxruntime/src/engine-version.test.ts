import * as ort from "onnxruntime-web";
import { expect, it } from "vitest";
import { ENGINE_VERSION } from "./engine-version.ts";

it("is the version of the installed engine", () => {
  expect(ort.env.versions.web).toBe(ENGINE_VERSION);
});
