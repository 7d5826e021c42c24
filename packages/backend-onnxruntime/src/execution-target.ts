import type { GpuContext } from "./gpu-context.ts";

/** Where a session is to run. */
export type ExecutionTarget =
  { readonly kind: "wasm" } | { readonly kind: "webgpu"; readonly gpu: GpuContext };
