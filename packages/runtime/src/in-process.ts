/** The parts of a host for whoever puts one together without a browser. */
export { composeHost } from "./host/compose-host.ts";
export type { HostPlatform } from "./host/compose-host.ts";
export { createHost } from "./host/host.ts";
export type { HostParts } from "./host/host.ts";
export type { ServeModelFiles } from "./host/worker-backend.ts";
export { createBrowserClock } from "./host/browser-clock.ts";
export { createDigest } from "./host/digest.ts";
export { runInstanceWorker } from "./instance/instance-worker.ts";
export { watchWasmMemories } from "./instance/wasm-memories.ts";
export { runJavaScriptWorker } from "./instance/javascript-worker.ts";
