import * as ort from "onnxruntime-web/jspi";
import type { OnnxEngine } from "./engine.ts";

/** The WebGPU build for browsers with JavaScript Promise Integration. */
export const engine: OnnxEngine = { build: "jspi", load: () => Promise.resolve(ort) };
