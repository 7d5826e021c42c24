/** What pages too need of the platform where a secure context may be missing. */
export { probeCapabilities } from "./capabilities.ts";
export { clockResolution } from "./host/clock-resolution.ts";
export { createBrowserClock } from "./host/browser-clock.ts";
export { platformLocks } from "./host/platform-locks.ts";
export { browserSpawner } from "./host/worker-spawner.ts";
export type { SpawnedWorker, WorkerSpawner } from "./host/worker-spawner.ts";
export { randomId } from "./random-id.ts";
export { formatLogLine } from "./host/format-log-line.ts";
