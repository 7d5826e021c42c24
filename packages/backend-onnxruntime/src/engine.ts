import type * as OrtModule from "onnxruntime-web";

/** The namespace of one of onnxruntime-web's builds. They share one type. */
export type Ort = typeof OrtModule;

/**
 * Which build of the engine: `wasm` has all CPU kernels and no WebGPU, `jspi` and `asyncify` have WebGPU and only the
 * most common CPU kernels. `jspi` is smaller and faster but needs WebAssembly's JavaScript Promise Integration.
 */
export type EngineBuild = "wasm" | "jspi" | "asyncify";

/** A build that an entry file brought along. */
export interface OnnxEngine {
  readonly build: EngineBuild;
  load(): Promise<Ort>;
}
