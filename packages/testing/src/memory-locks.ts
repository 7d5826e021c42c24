import type { LocalLocks } from "@naiad/link";
import { createLocalLocks } from "@naiad/link";

export type MemoryLocks = LocalLocks;

/** Web Locks of one origin in memory. Nobody dies here; let go instead. */
export const memoryLocks: () => MemoryLocks = createLocalLocks;
