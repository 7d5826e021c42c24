import type { DeviceReport } from "@naiad/protocol";

/** For the log: `wasm (build wasm), 1 thread` or `webgpu (build jspi), google swiftshader`. */
export function deviceText({ executionProvider, build, adapter, threads }: DeviceReport): string {
  const where = adapter ?? `${String(threads)} ${threads === 1 ? "thread" : "threads"}`;
  return `${executionProvider} (build ${build}), ${where}`;
}
