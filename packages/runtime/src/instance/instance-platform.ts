import type { FileStore, StoreLocation } from "@naiad/core";
import type { LockManagerLike } from "@naiad/link";
import { platformLocks } from "../host/platform-locks.ts";
import { openStoreAt } from "../storage/open-file-store.ts";
import { watchWasmMemories } from "./wasm-memories.ts";

/** What an instance worker needs from the place it runs in. */
export interface InstancePlatform {
  readonly locks: LockManagerLike;
  readonly gpu: GPU | undefined;
  readonly hasWebNn: boolean;
  /** Bytes of the memories of all WebAssembly modules. Absent where nobody counts them. */
  readonly wasmBytes?: () => number;
  /** `undefined` where the content of files is posted instead. */
  openStore(location: StoreLocation): FileStore | undefined;
}

export function browserPlatform(scope: { readonly navigator: Partial<WorkerNavigator> }): InstancePlatform {
  const { locks, gpu } = scope.navigator;
  return {
    locks: platformLocks(locks === undefined ? {} : { locks }),
    gpu,
    hasWebNn: "ml" in scope.navigator,
    wasmBytes: watchWasmMemories(WebAssembly),
    openStore: openStoreAt,
  };
}
