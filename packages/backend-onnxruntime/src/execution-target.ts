import type { DeviceTensors } from "./device-tensors.ts";
import type { GpuContext } from "./gpu-context.ts";

/** Where a session is to run. */
export type ExecutionTarget =
  | { readonly kind: "wasm" }
  /** `tensors`: where its worker's models leave tensors for each other. Absent: nowhere. */
  | { readonly kind: "webgpu"; readonly gpu: GpuContext; readonly tensors?: DeviceTensors }
  /** Operators that it lacks run on the CPU inside the same session. */
  | { readonly kind: "webnn" };

/** For texts. */
export const TARGET_NAMES: Readonly<Record<ExecutionTarget["kind"], string>> = {
  wasm: "WASM",
  webgpu: "WebGPU",
  webnn: "WebNN",
};
