import * as ort from "onnxruntime-web/wasm";
import type { OnnxEngine } from "./engine.ts";

/** The CPU build. */
export const engine: OnnxEngine = { build: "wasm", load: () => Promise.resolve(ort) };
