import { createChannel, holdAlive } from "@naiad/link";
import type { Endpoint, LockManagerLike } from "@naiad/link";
import { InferenceError } from "@naiad/protocol";
import type { InstanceContract, InstanceHostContract } from "@naiad/runtime";
import { aliveLock } from "@naiad/runtime";

/** An instance worker that takes every model, on any device, and runs none: enough to see what a load makes of it. */
export function runIdleInstanceWorker(scope: Endpoint, locks: LockManagerLike): void {
  createChannel<InstanceHostContract, InstanceContract>(
    scope,
    {
      calls: {
        start: async ({ workerId }) => {
          await holdAlive(locks, aliveLock(workerId));
          return { value: { build: "none" } };
        },
        create: ({ device }) => {
          const executionProvider = device.kind === "cpu" ? "wasm" : "webgpu";
          return Promise.resolve({ value: { device: { executionProvider, build: "none", threads: 1 } } });
        },
        execute: () => Promise.reject(new InferenceError("UNSUPPORTED", "this worker runs nothing")),
        readTensor: () => Promise.reject(new InferenceError("UNAVAILABLE", "this worker holds no tensors")),
        checkReady: () => Promise.resolve({ value: {} }),
        release: () => Promise.resolve({ value: { releasedBytes: 0 } }),
      },
      streams: {},
      notes: { disposeTensor: () => undefined, credit: () => undefined, cancel: () => undefined },
    },
    { peer: "the host" },
  );
}
