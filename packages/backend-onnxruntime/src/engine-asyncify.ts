import * as ort from "onnxruntime-web/webgpu";
import type { OnnxEngine } from "./engine.ts";

/** The WebGPU build for every other browser. */
export const engine: OnnxEngine = { build: "asyncify", load: () => Promise.resolve(ort) };
