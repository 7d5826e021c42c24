import { workerData } from "node:worker_threads";
import type { Endpoint, LockManagerLike } from "@naiad/link";
import { watchWasmMemories } from "@naiad/runtime/in-process";
import { connectLocks } from "./thread-locks.ts";
import type { InstanceThreadData } from "./thread-data.ts";
import { asEndpoint } from "./thread-data.ts";

/** What an instance worker needs from its thread. */
export interface InstanceThread {
  readonly scope: Endpoint;
  readonly platform: {
    readonly locks: LockManagerLike;
    readonly gpu: undefined;
    readonly hasWebNn: false;
    readonly wasmBytes: () => number;
    /** The host posts the content of files. */
    readonly openStore: () => undefined;
  };
}

/** Of the thread that this runs in, which the host has started. */
export function instanceThread(): InstanceThread {
  const { host, locks } = workerData as InstanceThreadData;
  return {
    scope: asEndpoint(host),
    platform: {
      locks: connectLocks(asEndpoint(locks)),
      gpu: undefined,
      hasWebNn: false,
      wasmBytes: watchWasmMemories(WebAssembly),
      openStore: () => undefined,
    },
  };
}
