import type { Capabilities } from "@naiad/protocol";

export interface ThreadShare {
  readonly perInstance: number;
  readonly warning?: string;
}

/** What ONNX Runtime Web takes at most by itself: more threads of one WASM instance gain little and cost a worker each. */
const DEFAULT_MAX_THREADS = 4;

/**
 * Threads of each CPU instance of a model. Without cross-origin isolation there is no shared memory, so one. Otherwise a
 * core is left to the page and the instances share the rest; those of other models leave it at least half of the machine,
 * because models seldom all run at once. `wanted`: the number the server's options say, 0 for none.
 */
export function shareThreads(input: {
  readonly capabilities: Pick<Capabilities, "crossOriginIsolated" | "hardwareConcurrency">;
  readonly wanted: number;
  readonly instances: number;
  readonly busyThreads: number;
}): ThreadShare {
  const { capabilities, wanted, instances, busyThreads } = input;
  if (!capabilities.crossOriginIsolated) {
    if (wanted <= 1) return { perInstance: 1 };
    const warning = `the page is not cross-origin isolated: 1 thread instead of ${String(wanted)}`;
    return { perInstance: 1, warning };
  }
  if (wanted > 0) return { perInstance: wanted };
  const cores = Math.max(capabilities.hardwareConcurrency - 1, 1);
  const free = Math.max(cores - busyThreads, Math.ceil(cores / 2));
  return { perInstance: Math.min(Math.max(Math.floor(free / instances), 1), DEFAULT_MAX_THREADS) };
}
